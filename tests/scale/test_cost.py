"""What a job costs, measured, and the page that says so."""

import re
from pathlib import Path
from typing import Any

import pytest

from leaseforge.store import SyncStore
from tests.support import OwnServer
from tests.support.costs import Commands, measure_commands, measure_memory
from tests.support.live_queue import LiveQueue

PAGE = (Path(__file__).parents[2] / "docs" / "redis-layout.md").read_text("utf-8")
MOST_BYTES = 700


def row(name: str) -> list[float]:
    """The numbers of a row in the page's section on costs."""
    section = PAGE.split("## What a job costs")[1]
    found = re.search(rf"^\| {re.escape(name)} \| ([\d.]+) \| ([\d.]+) \|$", section, re.MULTILINE)
    assert found, f"no row {name!r}"
    return [float(number) for number in found.groups()]


@pytest.fixture
def raw(redis_url: str) -> Any:
    with LiveQueue(redis_url) as line:
        yield line.raw


@pytest.fixture
def commands(sync_store: SyncStore, raw: Any) -> Commands:
    return measure_commands(sync_store, raw)


def test_a_queued_job_with_a_payload_of_100_bytes_takes_at_most_700(
    server: OwnServer, sync_store: SyncStore, raw: Any
) -> None:
    memory = measure_memory(sync_store, raw)

    column = 0 if server.embedded.binary is not None and server.embedded.binary.name == "redis-server" else 1
    print(memory)
    assert memory.keys <= MOST_BYTES
    assert memory.used <= MOST_BYTES
    for name, measured in (
        ("record (`job:<id>`)", memory.record),
        ("payload (`job:<id>:in`)", memory.payload),
        ("place in `ready`", memory.place),
        ("all, by which the server's memory grew", memory.used),
    ):
        assert row(name)[column] == pytest.approx(measured, rel=0.1), name


def test_the_commands_a_job_takes_are_those_of_the_page(commands: Commands) -> None:
    print(commands)
    for name, side in (("all", None), *((line, line) for line in _rows())):
        words = re.findall(r"`([A-Z]+)`", side or "")
        for stated, taken in zip(row(name), (commands.enqueue, commands.exchange), strict=True):
            measured = sum(calls for word, calls in taken.items() if side is None or word.upper() in words)
            assert stated == pytest.approx(measured, abs=0.1), f"{name}: {taken}"


def test_every_command_stands_on_the_page(commands: Commands) -> None:
    named = {word.lower() for line in _rows() for word in re.findall(r"`([A-Z]+)`", line)}

    assert set(commands.enqueue) | set(commands.exchange) <= named


def _rows() -> list[str]:
    section = PAGE.split("| command | enqueue | exchange |")[1]
    return [line for line in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE) if line not in ("---", "all")]
