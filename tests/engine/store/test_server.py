"""What an operator is told of the server itself, and what happens where it may not be asked."""

import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.errors import StoreUnavailable
from leaseforge.requests import new_job
from leaseforge.store import Store, connect
from leaseforge.store.server import slow_calls
from tests.support import OwnServer
from tests.support.live_queue import LiveQueue


@pytest.fixture
async def own(own_server: OwnServer, own_line: LiveQueue) -> AsyncIterator[Store]:
    store = connect(own_line.url, retry_s=1.0)
    yield store
    await store.aclose()


@pytest.mark.parametrize("protocol", ["", "?protocol=2", "?protocol=3"])
async def test_a_server_tells_what_it_is(own_line: LiveQueue, protocol: str) -> None:
    async with connect(own_line.url + protocol) as store:
        [report] = await store.servers()

    assert report.software is not None
    assert report.software.split()[0] in ("Redis", "Valkey")
    assert (report.mode, report.role) == ("standalone", "master")
    assert report.memory is not None
    assert 0 < report.memory.used <= report.memory.peak
    assert (report.memory.limit, report.memory.policy) == (None, "noeviction")
    assert report.persistence is not None
    assert report.persistence.fsync in ("always", "everysec", "no")
    assert report.clock_ahead_ms is not None
    assert abs(report.clock_ahead_ms) <= report.latency_ms + 5
    assert report.refused == ()


async def test_slow_calls_are_named_by_their_script_and_nothing_of_them_is_shown(
    own: Store, own_line: LiveQueue
) -> None:
    own_line.raw.config_set("slowlog-log-slower-than", 0)
    try:
        own_line.raw.slowlog_reset()
        await own.run(operations.enqueue(new_job("work", {"secret": "a canary"}, queue="line")))
        own_line.raw.set("foreign", "a canary")
        own_line.raw.eval("return 1", 0)
        [report] = await own.servers()
    finally:
        own_line.raw.config_set("slowlog-log-slower-than", 10_000)
        own_line.raw.delete("foreign")

    assert report.slow is not None
    assert {"enqueue", "SET", "another script"} <= {call.what for call in report.slow}
    assert "canary" not in repr(report)
    assert all(call.took_ms >= 0 for call in report.slow)


async def test_what_our_user_may_not_ask_for_is_named_and_the_rest_is_told(own_line: LiveQueue) -> None:
    own_line.raw.execute_command(
        "ACL", "SETUSER", "small", "on", ">word", "~*", "+@all", "-slowlog", "-config", "-info"
    )
    try:
        async with connect(own_line.url.replace("redis://", "redis://small:word@")) as store:
            [report] = await store.servers()
    finally:
        own_line.raw.execute_command("ACL", "DELUSER", "small")

    assert report.refused == ("INFO", "CONFIG GET", "SLOWLOG GET")
    assert (report.software, report.memory, report.persistence, report.slow) == (None, None, None, None)
    assert report.clock_ahead_ms is not None


async def test_a_server_that_is_away_is_unavailable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with connect(f"redis://127.0.0.1:{port}/0", retry_s=0.1) as store:
        with pytest.raises(StoreUnavailable):
            await store.servers()


@pytest.mark.parametrize(
    "entry", [[], [1], [1, b"x", 3, [b"GET"]], [1, 2, None, [b"GET"]], [1, 2, 3, []], [1, 10**30, 3, [b"GET"]], None]
)
def test_entries_that_cannot_be_read_are_left_out(entry: Any) -> None:
    [good] = slow_calls([entry, [1, 1_700_000_000, 12_500, [b"get", b"key"], b"127.0.0.1:1", b""]])

    assert (good.what, good.took_ms, good.at.year) == ("GET", 12.5, 2023)
