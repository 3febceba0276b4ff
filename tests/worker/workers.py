"""Workers on a real server: inside the test's own loop, and as processes of their own."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from leaseforge import operations, reads
from leaseforge.jobs import Job, JobState, NewJob
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge.tasks import AnyTask, Registry
from leaseforge.workers import WorkerInfo
from leaseforge_worker.queues import parse_queues
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.worker import Worker
from tests.support.processes import Process
from tests.support.waiting import eventually

FOLDER = Path(__file__).parent
ENDED = (JobState.COMPLETED, JobState.DEAD, JobState.CANCELLED)

T = TypeVar("T")
StartProcess = Callable[..., Process]


@contextlib.asynccontextmanager
async def a_worker(url: str, *tasks: AnyTask, queues: str = "default", **settings: Any) -> AsyncIterator[Worker]:
    """A worker in this loop, drained at the end; what `run` answered or raised shows then."""
    defaults: dict[str, Any] = {"metrics_address": None, "lease_s": 2.0, "drain_s": 5.0}
    worker = Worker(WorkerSettings(redis_url=url, queues=parse_queues(queues), **defaults | settings), Registry(tasks))
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
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


class Crew:
    """Worker processes with the fault tasks, and the ledger their handlers write outside Redis."""

    def __init__(self, start: StartProcess, url: str, folder: Path) -> None:
        self._start = start
        self._url = url
        self.ledger_file = folder / "ledger.jsonl"
        self.ledger_file.touch()
        self.gate = folder / "gate"
        """Handlers of `wait_for_gate` return once this file exists."""

    def worker(self, *, lease_s: float = 1.5, concurrency: int = 8, drain_s: float = 5.0, **env: str) -> Process:
        """Starts a worker process and waits until it works."""
        child = self._start(
            [sys.executable, FOLDER / "worker_process.py"],
            env={
                "LEASEFORGE_REDIS_URL": self._url,
                "LEASEFORGE_LEASE_SECONDS": str(lease_s),
                "LEASEFORGE_WORKER_CONCURRENCY": str(concurrency),
                "LEASEFORGE_DRAIN_SECONDS": str(drain_s),
                "LEASEFORGE_METRICS_ADDR": "off",
                "LEDGER": str(self.ledger_file),
                "GATE": str(self.gate),
                **env,
            },
        )
        child.wait_for_output("worker_started")
        return child

    def ledger(self) -> list[dict[str, Any]]:
        """What handlers noted: job, fence, attempt, pid, and start, end or cancelled."""
        return [json.loads(line) for line in self.ledger_file.read_text().splitlines()]

    def noted(self, what: str, job_id: str | None = None) -> list[dict[str, Any]]:
        return [line for line in self.ledger() if line["what"] == what and job_id in (None, line["job"])]


def log_lines(child: Process, event: str) -> list[dict[str, Any]]:
    """The worker's log lines of one event."""
    lines: Iterable[str] = (line for line in child.output().splitlines() if line.startswith("{"))
    return [line for line in map(json.loads, lines) if line.get("event") == event]
