"""Signs of trouble as values: what died lately, leases that were lost, jobs nobody has a handler for."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from leaseforge.jobs import Job
from leaseforge.workers import WorkerInfo

LATELY_S = 900
"""What happened in so many seconds is news."""
MOST_QUEUES = 20


@dataclass(frozen=True, slots=True)
class Growth:
    """The type of which most jobs died lately. `kind` is the error of all of them, '' if they differ."""

    queue: str
    type: str
    died: int
    kind: str


@dataclass(frozen=True, slots=True)
class Unhandled:
    """A type none of the queue's workers has a handler for; `jobs` of those that come next are of it."""

    queue: str
    type: str
    jobs: int


@dataclass(frozen=True, slots=True)
class Signs:
    """Counts are of the last quarter of an hour, over all queues."""

    died: int = 0
    recovered: int = 0
    fenced: int = 0
    growth: Growth | None = None
    unhandled: tuple[Unhandled, ...] = ()


def unhandled(queue: str, jobs: Iterable[Job], workers: Iterable[WorkerInfo]) -> list[Unhandled]:
    """What the workers of a queue cannot run of these jobs, the most frequent type first."""
    handled = {job_type for worker in workers for job_type in worker.types}
    missing = Counter(job.type for job in jobs if job.type not in handled)
    return [Unhandled(queue, job_type, count) for job_type, count in missing.most_common()]
