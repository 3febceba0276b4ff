"""Answers do not depend on the protocol of the connection."""

import pytest
import redis

from leaseforge import exchanges
from leaseforge.errors import BadInput
from leaseforge.store import SyncStore, connect, connect_sync
from leaseforge.store.address import parse_address
from tests.support.core_flow import core_flow
from tests.support.live_queue import LiveQueue

PROTOCOLS = [2, 3]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_async_store_answers_alike(redis_url: str, sync_store: SyncStore, protocol: int) -> None:
    async with connect(f"{redis_url}?protocol={protocol}") as store:
        said = await store.run(core_flow("flow-a"))

    assert said == sync_store.run(core_flow("flow-b"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_sync_store_answers_alike(redis_url: str, sync_store: SyncStore, protocol: int) -> None:
    with connect_sync(f"{redis_url}?protocol={protocol}") as store:
        assert store.run(core_flow("flow-a")) == sync_store.run(core_flow("flow-b"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_waiting_and_the_server_s_report_work(redis_url: str, protocol: int) -> None:
    with redis.Redis.from_url(redis_url) as raw:
        raw.rpush("lf:{q}:wake", "1")
    async with connect(f"{redis_url}?protocol={protocol}") as store:
        assert await store.wait(["p", "q"], timeout_s=5) == "q"
        assert await store.wait(["p", "q"], timeout_s=0.05) is None
        assert (await store.info())["role"] == "master"
        await store.check()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_connection_speaks_the_protocol_it_was_asked_for(redis_url: str, protocol: int) -> None:
    with connect_sync(f"{redis_url}?protocol={protocol}") as store, redis.Redis.from_url(redis_url) as raw:
        store.ping()
        others = [client for client in raw.client_list() if client["cmd"] == "ping"]

        assert str(protocol) in {client.get("resp") for client in others}


def test_raw_replies_are_equal(redis_url: str) -> None:
    """The very words of a script's reply, with numbers, nothing, texts and lists in lists."""
    replies = []
    for protocol in PROTOCOLS:
        with LiveQueue(redis_url) as line, redis.Redis.from_url(f"{redis_url}?protocol={protocol}") as raw:
            line.raw.flushdb()
            line.raw.hset(line.key("meta"), mapping={"rate": "0.5", "burst": "1"})
            line.add_many(2, tags=("a",))
            call = exchanges.exchange(line.name, run_id="w", number=1, lease_ms=1000, want=2)
            settled, promoted, (fine, (status, wait_ms, more, jobs)) = raw.eval(call.script.text, *call.command())
            assert isinstance(jobs[0][4], bytes)
            replies.append((settled, promoted, fine, status, type(wait_ms), more, [len(job) for job in jobs]))

    assert replies[0] == replies[1]


@pytest.mark.parametrize("protocol", ["1", "4", "x"])
def test_another_protocol_is_refused(protocol: str) -> None:
    with pytest.raises(BadInput, match="protocol"):
        parse_address(f"redis://localhost/0?protocol={protocol}&db=1")
