"""Hundreds of thousands of jobs through one worker: its memory must stay where it was after the first of them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression

from leaseforge import operations, reads
from leaseforge.jobs import JobState, NewJob
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from tests.soak.crew import count, start_worker
from tests.support import Process
from tests.support.waiting import eventually_sync

_PAGE = os.sysconf("SC_PAGE_SIZE")
_AT_A_TIME = 1000
_WARM_UP = 0.25
"""Of all jobs, those that fill pools, caches and the allocator's reserves."""


@dataclass(slots=True)
class Memory:
    """The worker's resident memory in bytes, by how many jobs it had been given."""

    samples: list[tuple[int, int]] = field(default_factory=list)

    @property
    def steady(self) -> Sequence[tuple[int, int]]:
        """The samples after the warm-up."""
        return [sample for sample in self.samples if sample[0] >= self.samples[-1][0] * _WARM_UP]

    @property
    def bytes_per_job(self) -> float:
        """The slope of a straight line through the steady samples."""
        jobs, sizes = [job for job, _ in self.steady], [size for _, size in self.steady]
        return linear_regression(jobs, sizes).slope

    def __str__(self) -> str:
        (first, before), (last, after) = self.steady[0], self.steady[-1]
        return (
            f"{last} jobs: {before / 2**20:.1f} MiB after {first}, {after / 2**20:.1f} MiB at the end, "
            f"slope {self.bytes_per_job:.1f} bytes a job"
        )


def watch_memory(start: Callable[..., Process], store: SyncStore, url: str, *, jobs: int) -> Memory:
    """Gives one worker so many jobs of all kinds, a few thousand at a time; follow-ups come on top."""
    worker = start_worker(start, url, slots=32, queues="default,elsewhere")
    memory, given = Memory(), 0
    store.run(operations.enqueue(new_job("echoes", "first")))
    # Ended jobs are none of the worker's memory: the server need not keep them.
    store.run(operations.configure("default", {"keep": 1000, "dead_keep": 1000}))
    while given < jobs:
        store.run(operations.enqueue_many([_job(given + number) for number in range(_AT_A_TIME)]))
        given += _AT_A_TIME
        eventually_sync(lambda: _is_almost_done(store, worker), within_s=120)
        memory.samples.append((given, _rss(worker.pid)))
    eventually_sync(lambda: _left(store) == 0, within_s=120)
    memory.samples.append((given + 1, _rss(worker.pid)))
    worker.end()
    return memory


def _job(number: int) -> NewJob:
    """Mostly plain ones; some in threads, some that speak and ask for more, some that fail."""
    text = f"{number:06d}" * 20
    match number % 20:
        case 0:
            return new_job("breaks", text)
        case 1 | 2:
            return new_job("speaks", text)
        case 3 | 4 | 5:
            return new_job("echoes_in_thread", text)
        case _:
            return new_job("echoes", text)


def _is_almost_done(store: SyncStore, worker: Process) -> bool:
    worker.check_running()
    return _left(store) < 2 * _AT_A_TIME


def _left(store: SyncStore) -> int:
    waiting = (JobState.READY, JobState.RUNNING, JobState.RETRYING)
    queues = store.run(reads.queue_names())
    return sum(count(store, *waiting, queue=queue) for queue in queues)


def _rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * _PAGE
