"""One worker with a thousand jobs in its hands for minutes: it must not lose a single lease."""

from collections.abc import Callable
from dataclasses import dataclass

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from tests.faults.workers import metric
from tests.soak.crew import all_jobs, count, start_worker
from tests.support import Process
from tests.support.waiting import eventually_sync

ENDED = (JobState.COMPLETED, JobState.DEAD, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Load:
    """How many jobs of each kind are held at once, and for how long."""

    sleeps: int
    blocks: int
    computes: int
    computes_apart: int
    seconds: float

    @property
    def total(self) -> int:
        return self.sleeps + self.blocks + self.computes + self.computes_apart


@dataclass(slots=True)
class Held:
    """What became of it. `renewal_gap_s` is the longest time a lease went without a renewal, of a lease of 10 s."""

    load: Load
    most_running: int = 0
    renewal_gap_s: float = 0.0
    fenced: int = 0
    recovered: int = 0
    """Leases that were lost."""
    again: int = 0
    """Attempts beyond the first of a job."""
    unsuccessful: int = 0

    def __str__(self) -> str:
        return (
            f"{self.load}: {self.most_running} ran at once, {self.recovered} leases lost, "
            f"{self.fenced} writes refused, {self.again} attempts repeated, {self.unsuccessful} jobs unsuccessful, "
            f"longest renewal gap {self.renewal_gap_s:.2f} s"
        )


def hold(start: Callable[..., Process], store: SyncStore, url: str, load: Load) -> Held:
    """Runs the load to its end in one worker."""
    kinds = {
        "sleeps": load.sleeps,
        "blocks": load.blocks,
        "computes": load.computes,
        "computes_apart": load.computes_apart,
    }
    jobs = [new_job(kind, load.seconds, timeout_ms=None) for kind, amount in kinds.items() for _ in range(amount)]
    store.run(operations.enqueue_many(jobs))
    worker = start_worker(start, url, slots=load.total)
    held = Held(load)

    def look() -> bool:
        worker.check_running()
        held.most_running = max(held.most_running, count(store, JobState.RUNNING))
        return count(store, *ENDED) == load.total

    eventually_sync(look, within_s=load.seconds * 3 + 240, every_s=0.5)
    held.renewal_gap_s = metric(worker, "leaseforge_worker_longest_renewal_gap_seconds")
    held.fenced = int(metric(worker, "leaseforge_worker_fenced_writes_total"))
    worker.end()
    held.recovered = store.run(reads.queue("default")).totals.get("recovered", 0)
    held.unsuccessful = load.total - count(store, JobState.COMPLETED)
    held.again = sum(job.attempts - 1 for state in ENDED for job in all_jobs(store, state))
    return held
