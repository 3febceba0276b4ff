"""Store.wait: idle workers are woken by the queues they wait on."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from leaseforge.errors import StoreUnavailable
from leaseforge.store import Store, connect
from tests.support import eventually, free_port
from tests.support.live_queue import LiveQueue
from tests.support.proxy import Proxy


@pytest.fixture
async def waiter(line: LiveQueue) -> AsyncIterator[Store]:
    """A store that waits on the database of `line`."""
    store = connect(line.url)
    yield store
    await store.aclose()


async def blocked(line: LiveQueue, count: int = 1) -> None:
    """Returns when that many clients wait in the server."""
    await eventually(lambda: line.raw.info("clients")["blocked_clients"] >= count)


async def test_a_token_that_is_there_is_taken_at_once(waiter: Store, line: LiveQueue) -> None:
    line.add()

    assert await waiter.wait(["other", line.name], timeout_s=30.0) == line.name
    assert not line.take_wake_token()


async def test_a_waiting_worker_is_woken_by_the_next_job(waiter: Store, line: LiveQueue) -> None:
    waiting = asyncio.create_task(waiter.wait([line.name], timeout_s=30.0))
    await blocked(line)

    line.add()

    assert await waiting == line.name


async def test_one_token_wakes_one_of_many(line: LiveQueue) -> None:
    stores = [connect(line.url) for _ in range(3)]
    waiting = [asyncio.create_task(store.wait([line.name], timeout_s=30.0)) for store in stores]
    await blocked(line, 3)

    line.add()

    done, idle = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == [line.name]
    line.exchange(0)  # the woken one has no room and passes the token on
    await asyncio.wait(idle, return_when=asyncio.FIRST_COMPLETED)
    for task in idle:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for store in stores:
        await store.aclose()


async def test_without_a_token_waiting_ends_with_nothing(waiter: Store) -> None:
    assert await waiter.wait(["line"], timeout_s=0.05) is None


async def test_a_cancelled_wait_leaves_the_store_usable(waiter: Store, line: LiveQueue) -> None:
    waiting = asyncio.create_task(waiter.wait([line.name], timeout_s=30.0))
    await blocked(line)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await eventually(lambda: line.raw.info("clients")["blocked_clients"] == 0)

    line.add()

    assert await waiter.wait([line.name], timeout_s=30.0) == line.name


async def test_a_lost_connection_is_told_and_the_next_wait_works(waiter: Store, line: LiveQueue) -> None:
    waiting = asyncio.create_task(waiter.wait([line.name], timeout_s=30.0))
    await blocked(line)

    line.raw.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    with pytest.raises(StoreUnavailable):
        await waiting
    line.add()
    assert await waiter.wait([line.name], timeout_s=30.0) == line.name


async def test_a_server_that_unblocks_its_clients_in_a_failover_counts_as_away(waiter: Store, line: LiveQueue) -> None:
    waiting = asyncio.create_task(waiter.wait([line.name], timeout_s=30.0))
    await blocked(line)

    for client in line.raw.client_list():
        if client["cmd"] == "blpop":
            line.raw.execute_command("CLIENT", "UNBLOCK", client["id"], "ERROR")

    with pytest.raises(StoreUnavailable):
        await waiting


async def test_a_server_that_says_nothing_any_more_counts_as_away(line: LiveQueue, proxy: Proxy) -> None:
    store = connect(proxy.url(line.url), timeout_s=0.2)
    proxy.mute = True

    with pytest.raises(StoreUnavailable):
        await store.wait([line.name], timeout_s=0.1)
    await store.aclose()


async def test_no_server_at_all_is_told_at_once() -> None:
    store = connect(f"redis://127.0.0.1:{free_port()}/0", retry_s=600.0)

    with pytest.raises(StoreUnavailable):
        await store.wait(["line"], timeout_s=30.0)
    await store.aclose()
