"""docs/redis-layout.md, held to what a server really holds after everything has happened once."""

import re
from pathlib import Path

import pytest

from leaseforge import attempts, bulk, exchanges, forms, operations, statistics
from leaseforge.exchanges import Outcome
from leaseforge.requests import new_job
from leaseforge.store.checks import layout_call
from tests.support.bulk_steps import Runner, order
from tests.support.live_queue import LiveQueue
from tests.support.sample_calls import REPORT

PAGE = Path(__file__).parents[2] / "docs" / "redis-layout.md"
NEVER_THERE = {"guard", "job:<id>:corrupt", "bulk:<id>:seen"}
"""`guard` never exists; `corrupt` has a test of its own, because it needs damage; `seen` goes with the walk."""


def table(heading: str) -> dict[str, str]:
    """The names of a section's table in backquotes, each with its row's second cell."""
    section = PAGE.read_text("utf-8").split(f"## {heading}")[1].split("\n## ")[0]
    rows = [row.split("|") for row in section.splitlines() if row.startswith("| `")]
    return {name: cells[2].strip() for cells in rows for name in re.findall(r"`([^`]+)`", cells[1])}


def pattern(name: str) -> re.Pattern[str]:
    """A documented key name with its <parts> as a pattern."""
    return re.compile(re.sub(r"<[^>]+>", "[^:]+", name) + r"\Z")


def documented(name: str, names: dict[str, str]) -> list[str]:
    """Which documented names a real one matches; the plain ones first."""
    return [known for known in names if pattern(known).match(name)]


@pytest.fixture
def lived(line: LiveQueue) -> LiveQueue:
    """A queue to which everything has happened that leaves a trace, and a server beside it."""
    line.run(layout_call())
    full = new_job(
        "full",
        b"x" * 20_000,
        queue=line.name,
        priority=3,
        max_attempts=1,
        tags=("t",),
        traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01",
        tracestate="vendor=1",
        created_by="me",
        unique_key="only",
        idempotency_key="once",
    )
    line.run(operations.enqueue(full))
    line.add(delay_ms=60_000)
    line.run(operations.configure(line.name, {"max_running": 50, "rate": 1000.0, "burst": 100, "keep": 5}))
    line.run(operations.configure(line.name, {"keep_ms": 60_000, "dead_keep": 5, "dead_keep_ms": 60_000}))

    claimed = line.claim_one()
    line.run(attempts.progress(line.name, claimed.id, claimed.token, percent=5))
    line.run(attempts.log(line.name, claimed.id, claimed.token, first=1, lines=["a line"]))
    line.settle(claimed, Outcome.FAIL, error_kind="Broken", error_message="no", max_attempts=1)
    line.run(operations.retry(full.id, operation="op"))
    line.settle(line.claim_one(), Outcome.RELEASE)
    line.expire(line.claim_one().id)
    line.sweep_stopped(ago_ms=60_000)
    line.tick()
    line.raw.hdel(line.key("meta"), "recover_from")
    line.tick()
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", max_attempts=1)

    later = line.add()
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", max_attempts=9, delay_ms=60_000)
    assert line.state(later) == "retrying"
    line.add()
    elsewhere = new_job("next", queue="elsewhere")
    line.settle(line.claim_one(), Outcome.COMPLETE, result=b"out", follow_ups=(elsewhere,))
    line.run(operations.cancel(line.add(), operation="op"))
    running = line.add(unique_key="other")
    token = line.claim_one().token
    line.run(attempts.progress(line.name, running, token, percent=5))
    line.run(operations.cancel(running, operation="op"))
    line.add()
    line.sweep_stopped(ago_ms=60_000)
    line.tick()
    begin_bulk_operation(line)
    line.run(operations.pause(line.name))
    line.run(exchanges.register_worker(REPORT))
    line.run(forms.publish({"work": b'{"type":"integer"}'}))
    line.run(operations.command_worker(REPORT.id, "quiet"))
    line.run(statistics.add_up(holder="one", missed_s=7200))
    return line


def begin_bulk_operation(line: LiveQueue) -> None:
    """One that has acted on a job and waits for what becomes of it."""
    for _ in range(2):
        line.add(priority=9, tags=("many",))
        line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", permanent="told_so")
    runner = Runner(line)
    asked = order("retry", {"tag": "many"}, stop_at_failure_rate=0.5)
    made = runner.start(runner.collect(line.run(bulk.create("0" * 32, asked))))
    assert made.counts.total > 1
    runner.act(made, limit=1)


def test_every_key_of_a_queue_is_on_the_page_and_every_one_on_the_page_exists(lived: LiveQueue) -> None:
    names = table("Keys of a queue")
    prefix = lived.key("")
    found = {key.decode().removeprefix(prefix): key for key in lived.raw.keys(f"{prefix}*")}

    assert [name for name in found if not documented(name, names)] == []
    seen = {known for name in found for known in documented(name, names)}
    assert set(names) - seen == NEVER_THERE
    for name, key in found.items():
        assert {names[known] for known in documented(name, names)} == {lived.raw.type(key).decode()}, name


def test_every_field_of_a_record_is_on_the_page_and_every_one_on_the_page_exists(lived: LiveQueue) -> None:
    found = {
        field.decode()
        for key in lived.raw.keys(lived.key("job:*"))
        if key.count(b":") == 3
        for field in lived.raw.hgetall(key)
    }

    assert found | {"content_type", "options"} == set(table("The record"))


def test_every_field_of_meta_is_on_the_page_and_every_one_on_the_page_exists(lived: LiveQueue) -> None:
    assert {field.decode() for field in lived.raw.hgetall(lived.key("meta"))} == set(table("A queue's `meta`"))


def test_every_key_of_no_queue_is_on_the_page_and_every_one_on_the_page_exists(lived: LiveQueue) -> None:
    names = table("Keys of no queue")
    found = {key.decode().removeprefix("lf:{sys}:"): key for key in lived.raw.keys("lf:{sys}:*")}

    assert [name for name in found if not documented(name, names)] == []
    assert {known for name in found for known in documented(name, names)} == set(names)
    for name, key in found.items():
        assert {names[known] for known in documented(name, names)} == {lived.raw.type(key).decode()}, name


def test_what_stood_in_the_place_of_a_record_is_kept_where_the_page_says(line: LiveQueue) -> None:
    job_id = line.add()
    line.raw.delete(line.record_key(job_id))
    line.raw.rpush(line.record_key(job_id), "foreign")

    line.claim(1)

    assert line.raw.lrange(line.record_key(job_id, ":corrupt"), 0, -1) == [b"foreign"]
    line.raw.delete(line.record_key(job_id, ":corrupt"))
