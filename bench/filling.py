"""Fills the queue before the clock runs, and accounts for every job after it has stopped."""

from functools import lru_cache

from bench.server import QUEUE, Bench, WorkloadFailed
from leaseforge import Client, JobState, new_job
from leaseforge.calls import Call
from leaseforge.enqueueing import Stored, enqueue, register_queue
from leaseforge.limits import MAX_BULK

PAYLOAD = {"number": 123456}
_ENDED = frozenset({JobState.COMPLETED, JobState.DEAD, JobState.CANCELLED})


def fill(bench: Bench, task: str, jobs: int, *, paused: bool = False) -> None:
    """Stores so many ready jobs; `paused` keeps workers off them until `Client.resume`."""
    with Client(bench.url) as client:
        client.run(register_queue(QUEUE))
        for call in _calls(task, jobs):
            client.run(call)
        if paused:
            client.pause(QUEUE)


@lru_cache(maxsize=4)
def _calls(task: str, jobs: int) -> list[Call[Stored]]:
    """Kept from run to run: building the jobs takes longer than storing them."""
    built = [new_job(task, PAYLOAD, queue=QUEUE) for _ in range(jobs)]
    return [enqueue(QUEUE, built[start : start + MAX_BULK]) for start in range(0, jobs, MAX_BULK)]


def account(bench: Bench, jobs: int, *, state: JobState = JobState.COMPLETED) -> None:
    """Checks that each job ended in `state`, once, and that none is left. Raises WorkloadFailed."""
    with Client(bench.url) as client:
        info = client.queue(QUEUE)
    left = {name.value: size for name, size in info.counts.items() if size and name not in _ENDED}
    ended = {name.value: info.totals.get(name.value, 0) for name in _ENDED}
    if left or ended != {name.value: jobs if name is state else 0 for name in _ENDED}:
        raise WorkloadFailed(f"{jobs:,} jobs should be {state.value}; ended: {ended}, left over: {left}")


def count_stored(bench: Bench, jobs: int) -> None:
    """Checks that so many jobs are ready, and nothing else is there. Raises WorkloadFailed."""
    with Client(bench.url) as client:
        counts = client.queue(QUEUE).counts
    if counts[JobState.READY] != jobs or sum(counts.values()) != jobs:
        raise WorkloadFailed(f"{jobs:,} jobs should be ready, but the queue holds {dict(counts)}")
