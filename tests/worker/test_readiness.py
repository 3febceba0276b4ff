"""What a worker's probes say in every situation that looks like idleness from outside."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from leaseforge import operations
from leaseforge.context import Context
from leaseforge.store import Store
from leaseforge.tasks import task
from leaseforge_worker import discovery, readiness, waiting
from leaseforge_worker.health import Health
from leaseforge_worker.worker import Worker
from tests.support.proxy import Proxy
from tests.support.servers import OwnServer
from tests.support.waiting import eventually
from tests.worker.workers import a_worker, enqueue, many

READY = Health(redis_ok=True, accepts_work=True)
LATE_S = 0.6


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of 0.1 s, and a worker that was answered nothing for 0.6 s is late: the same ratio, sooner."""
    monkeypatch.setattr(waiting, "WAIT_S", 0.1)
    monkeypatch.setattr(discovery, "EVERY_S", 0.1)
    monkeypatch.setattr(readiness, "_SILENCE_S", LATE_S)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets blocking handlers go, at the latest when the test ends."""
    event = threading.Event()
    yield event
    event.set()


async def stays_ready(worker: Worker) -> None:
    """Looks for longer than a worker may be late."""
    end = time.monotonic() + 2 * LATE_S
    while time.monotonic() < end:
        assert worker.health() == READY
        await asyncio.sleep(0.02)


async def settles_ready(worker: Worker) -> None:
    """Waits until it is ready for good: calls that were under way may still time out once the first part is back."""
    ready_since = time.monotonic()

    def is_settled() -> bool:
        nonlocal ready_since
        if worker.health() != READY:
            ready_since = time.monotonic()
        return time.monotonic() - ready_since > 2 * LATE_S

    await eventually(is_settled, within_s=30)


@task
async def idle(ctx: Context) -> None:
    """Never enqueued."""


async def test_an_idle_worker_is_ready(redis_url: str) -> None:
    async with a_worker(redis_url, idle) as worker:
        await eventually(lambda: worker.health() == READY)
        await stays_ready(worker)


async def test_a_worker_of_every_queue_is_ready_while_there_is_none(redis_url: str) -> None:
    async with a_worker(redis_url, idle, queues="*") as worker:
        await eventually(lambda: worker.health() == READY)
        await stays_ready(worker)


async def test_a_paused_queue_is_no_fault_of_the_worker(store: Store, redis_url: str) -> None:
    await enqueue(store, *many("idle", 3))
    await store.run(operations.pause("default"))
    async with a_worker(redis_url, idle) as worker:
        await eventually(lambda: worker.health() == READY)
        await stays_ready(worker)


@pytest.mark.parametrize("blocks_the_loop", [False, True])
async def test_long_jobs_in_every_slot_are_work_and_no_fault(
    store: Store, redis_url: str, release: threading.Event, blocks_the_loop: bool
) -> None:
    seen: list[Health] = []

    @task
    def in_thread(ctx: Context) -> None:
        release.wait(20)

    @task
    async def in_loop(ctx: Context) -> None:
        end = time.monotonic() + 2 * LATE_S
        while time.monotonic() < end:  # nothing of the worker runs in its loop meanwhile: this looks for it
            seen.append(worker.health())
            time.sleep(0.02)

    async with a_worker(redis_url, in_thread, in_loop, concurrency=1) as worker:
        await enqueue(store, *many("in_loop" if blocks_the_loop else "in_thread", 1))
        if blocks_the_loop:
            await eventually(lambda: seen)
            assert set(seen) == {READY}
        else:
            await eventually(lambda: worker.health() == READY and worker.link.since_asked_s < LATE_S)
            await stays_ready(worker)
            release.set()
            await stays_ready(worker)


async def test_a_handler_that_blocks_the_loop_keeps_work_out_of_free_slots(store: Store, redis_url: str) -> None:
    seen: list[Health] = []

    @task
    async def blocks(ctx: Context) -> None:
        end = time.monotonic() + 3 * LATE_S
        while time.monotonic() < end:
            seen.append(worker.health())
            time.sleep(0.02)

    async with a_worker(redis_url, blocks, concurrency=2) as worker:
        await enqueue(store, *many("blocks", 1))
        await eventually(lambda: seen)

        assert seen[0] == READY
        assert seen[-1] == Health(redis_ok=True, accepts_work=False)
        await eventually(lambda: worker.health() == READY)


@pytest.mark.parametrize("fault", ["refuse", "mute"])
async def test_a_worker_without_redis_is_not_ready_until_it_is_back(
    server: OwnServer, redis_url: str, fault: str
) -> None:
    with Proxy(server.port) as proxy:
        async with a_worker(proxy.url(redis_url), idle) as worker:
            await eventually(lambda: worker.health() == READY)
            setattr(proxy, fault, True)
            if fault == "refuse":
                proxy.cut()
            await eventually(lambda: not worker.health().redis_ok)

            setattr(proxy, fault, False)

            await settles_ready(worker)
