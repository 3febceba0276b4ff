"""What idle workers ask of Redis, and how soon one of them starts a job: measured, not judged."""

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from tests.support import Process
from tests.support.waiting import eventually_sync

BY_CLIENTS = frozenset({"evalsha", "eval", "blpop", "ping", "hello", "auth", "select", "client|setinfo", "script|load"})
"""What clients send. A server counts the commands that scripts run too; no script runs one of these."""


@dataclass(frozen=True, slots=True)
class Idle:
    """What was counted in `seconds` of idleness, and how late jobs started, in ms after they could have.

    `waits_ms` of jobs to be run at once, `late_ms` of delayed ones.
    """

    workers: int
    seconds: float
    requests: dict[str, int]
    waits_ms: list[float]
    late_ms: list[float]

    def __str__(self) -> str:
        total = sum(self.requests.values()) / self.seconds
        parts = ", ".join(f"{name} {count / self.seconds:.2f}" for name, count in sorted(self.requests.items()))
        line = f"{self.workers} idle workers: {total:.2f} requests/s ({parts}) over {self.seconds:.0f} s"
        for name, times in (("wake-ups", self.waits_ms), ("delayed jobs late by", self.late_ms)):
            if ordered := sorted(times):
                line += (
                    f"; {len(ordered)} {name}: median {statistics.median(ordered):.1f} ms, "
                    f"p99 {ordered[int(len(ordered) * 0.99)]:.1f} ms, max {ordered[-1]:.1f} ms"
                )
        return line


def client_requests(store: SyncStore) -> dict[str, int]:
    """Commands that clients sent so far, by name; those that scripts ran are left out."""
    stats = store.info()
    return {name: stats[f"cmdstat_{name}"]["calls"] for name in BY_CLIENTS if f"cmdstat_{name}" in stats}


def measure_idle(
    start: Callable[..., Process],
    store: SyncStore,
    url: str,
    *,
    workers: int,
    seconds: float,
    jobs: int,
    delayed: int,
) -> Idle:
    """Starts workers in at most four processes, counts what they send while idle, then gives them jobs one by one."""
    sizes = [len(range(first, workers, 4)) for first in range(min(4, workers))]
    crowds = [start([sys.executable, "-m", "tests.soak.crowd", url, str(size)]) for size in sizes]
    eventually_sync(lambda: store.run(reads.workers()).total == workers, within_s=120)
    time.sleep(12)  # the first reports, by which workers learn how many they are, are no idleness
    before, began = client_requests(store), time.monotonic()
    time.sleep(seconds)
    after, took = client_requests(store), time.monotonic() - began
    counted = {name: calls - before.get(name, 0) for name, calls in after.items() if calls > before.get(name, 0)}
    waits = [_start_one(store, pause_s=random.uniform(0.02, 0.08)) for _ in range(jobs)]
    late = [_start_one(store, pause_s=random.uniform(2, 5), delay_ms=random.randint(20, 2500)) for _ in range(delayed)]
    for one in crowds:
        one.check_running()
        one.end()
    return Idle(workers, took, counted, waits, late)


def _start_one(store: SyncStore, *, pause_s: float, delay_ms: int = 0) -> float:
    """How late in ms a job started that came after so long a pause, when all were idle."""
    time.sleep(pause_s)
    sent = time.monotonic()
    job_id = store.run(operations.enqueue(new_job("stamp", delay_ms=delay_ms))).id
    eventually_sync(lambda: store.run(reads.job(job_id)).state is JobState.COMPLETED, within_s=30)
    result = store.run(reads.job(job_id)).result
    assert result is not None
    started: float = json.loads(result)
    return (started - sent) * 1000 - delay_ms
