"""Workers on a real server, inside the test's own loop, and what their tests ask a store again and again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from leaseforge import operations, reads
from leaseforge.jobs import Job, JobState, NewJob
from leaseforge.registry import Registry
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge.tasks import AnyTask
from leaseforge.workers import WorkerInfo
from leaseforge_worker.queues import parse_queues
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.worker import Worker
from tests.support.waiting import eventually

ENDED = (JobState.COMPLETED, JobState.DEAD, JobState.CANCELLED)

T = TypeVar("T")


@contextlib.asynccontextmanager
async def a_worker(url: str, *tasks: AnyTask, queues: str = "default", **settings: Any) -> AsyncIterator[Worker]:
    """A worker in this loop, drained at the end; what `run` answered or raised shows then."""
    defaults: dict[str, Any] = {"metrics_address": None, "lease_s": 2.0, "drain_s": 5.0}
    worker = Worker(WorkerSettings(redis_url=url, queues=parse_queues(queues), **defaults | settings), Registry(tasks))
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.ask_to_stop()
        await asyncio.wait_for(running, 20)


async def until(look: Callable[[], Awaitable[T]], *, within_s: float = 15.0, every_s: float = 0.02) -> T:
    """What `look` answers, once that is truthy."""
    found: list[T] = []

    async def is_there() -> bool:
        answer = await look()
        if answer:
            found.append(answer)
        return bool(answer)

    condition: Callable[[], bool | Awaitable[bool]] = is_there
    await eventually(condition, within_s=within_s, every_s=every_s)
    return found[-1]


async def enqueue(store: Store, *jobs: NewJob) -> list[str]:
    """Enqueues jobs in bulk; their ids."""
    ids: list[str] = []
    for start in range(0, len(jobs), 1000):
        done = await store.run(operations.enqueue_many(list(jobs[start : start + 1000])))
        ids += [one.id for one in done]
    return ids


def many(type: str, count: int, payload: Any = None, **fields: Any) -> list[NewJob]:
    return [new_job(type, payload, **fields) for _ in range(count)]


async def the_job(store: Store, job_id: str) -> Job:
    return await store.run(reads.job(job_id))


async def ended(store: Store, job_id: str, *, within_s: float = 15.0) -> Job:
    """The job, once it has ended."""

    async def look() -> Job | None:
        job = await the_job(store, job_id)
        return job if job.state in ENDED else None

    found = await until(look, within_s=within_s)
    assert found is not None
    return found


async def the_worker(store: Store, run_id: str) -> WorkerInfo | None:
    """A worker's entry in the registry."""
    return next((one for one in (await store.run(reads.workers())).items if one.id == run_id), None)


async def running(store: Store, count: int, queue: str = "default") -> None:
    """Waits until so many jobs run."""

    async def look() -> bool:
        return (await counts(store, queue)).get("running", 0) == count

    await until(look)


async def counts(store: Store, queue: str = "default") -> dict[str, int]:
    """How many jobs are in each state, those without any left out."""
    info = await store.run(reads.queue(queue))
    return {state.value: count for state, count in info.counts.items() if count}


async def all_ended(store: Store, total: int, *, queue: str = "default", within_s: float = 40.0) -> dict[str, int]:
    """The counts of a queue, once all of its jobs have ended."""

    async def look() -> dict[str, int] | None:
        now = await counts(store, queue)
        return now if sum(now.get(state, 0) for state in ENDED) == total else None

    try:
        found = await until(look, within_s=within_s, every_s=0.05)
    except AssertionError as error:
        raise AssertionError(f"{error}: {await counts(store, queue)}") from None
    assert found is not None
    return found
