"""Workers told to go at random moments under load: nothing is charged, nothing is lost, and they go in time."""

import random
import signal
import statistics
import time
from dataclasses import dataclass, field

from leaseforge.jobs import JobState, NewJob
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced, Producer
from tests.faults.workers import Crew
from tests.soak.crew import all_jobs, count
from tests.support.waiting import eventually_sync

DRAIN_S = 1.0
_LIVE = (JobState.READY, JobState.RUNNING, JobState.SCHEDULED, JobState.RETRYING)
_PATIENCE_S = 60.0


@dataclass(slots=True)
class Drains:
    """How long each worker took from SIGTERM to its end, and what became of the jobs."""

    took_s: list[float] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    jobs: int = 0
    given_back: int = 0
    charged: list[str] = field(default_factory=list)
    """Jobs with a failure, a lost lease, or an attempt that neither completed nor was given back."""

    def __str__(self) -> str:
        ordered = sorted(self.took_s)
        late = sum(took > DRAIN_S + 2 for took in ordered)
        return (
            f"{len(ordered)} drains of {DRAIN_S:g} s under load: exit after {ordered[0]:.2f} to {ordered[-1]:.2f} s "
            f"(median {statistics.median(ordered):.2f}), {late} beyond drain + 2 s, statuses {sorted(self.statuses)}; "
            f"{self.jobs} jobs, {self.given_back} given back, {len(self.charged)} charged"
        )


def drain_again_and_again(
    crew: Crew, store: SyncStore, ledger: Ledger, produced: Produced, *, times: int, chance: random.Random
) -> Drains:
    """Starts worker after worker under load and stops each; a last one finishes what is left, then all is audited."""
    drains = Drains()

    def make(number: int, id: str) -> NewJob:
        # A few outlast the drain: on the loop they are stopped, in a thread they are left behind.
        ms = chance.choice((1, 5, 20, 100, 400, 900)) if number % 200 else 4000
        return new_job(chance.choice(("work", "work_in_thread")), {"ms": ms}, id=id)

    with Producer(crew.url, produced, count=1_000_000, make=make, pause_s=0.02):
        for _ in range(times):
            # A lease no drain outlasts: whatever is recovered was not given back.
            worker = crew.worker(lease_s=30.0, drain_s=DRAIN_S, concurrency=16)
            time.sleep(chance.uniform(0.0, 1.5))
            worker.signal(signal.SIGTERM)
            told = time.monotonic()
            drains.statuses.add(worker.wait(within_s=_PATIENCE_S))
            drains.took_s.append(time.monotonic() - told)
    last = crew.worker(lease_s=30.0, drain_s=DRAIN_S, concurrency=64)
    eventually_sync(lambda: count(store, *_LIVE) == 0, within_s=300)
    last.end()
    audit(crew.url, ledger, produced, ended=True, lease_ms=30_000)
    for job in all_jobs(store, JobState.COMPLETED):
        drains.jobs += 1
        drains.given_back += job.releases
        if job.failures or job.recoveries or job.attempts != job.releases + 1:
            drains.charged.append(job.id)
    return drains
