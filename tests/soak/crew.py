"""Worker processes with the handlers of the long runs."""

from collections.abc import Callable, Iterator

from leaseforge import reads
from leaseforge.jobs import Job, JobState
from leaseforge.store import SyncStore
from tests.faults.workers import CLI, ROOT
from tests.support import Process
from tests.support.waiting import free_port


def start_worker(start: Callable[..., Process], url: str, *, slots: int, queues: str = "default") -> Process:
    """`leaseforge worker` as users start it, with the lease it has by default."""
    child = start(
        [*CLI, "worker", "tests.soak.tasks"],
        cwd=ROOT,
        env={
            "LEASEFORGE_REDIS_URL": url,
            "LEASEFORGE_WORKER_CONCURRENCY": str(slots),
            "LEASEFORGE_WORKER_QUEUES": queues,
            "LEASEFORGE_METRICS_ADDR": f"127.0.0.1:{free_port()}",
        },
    )
    child.wait_for_output("worker_started", within_s=90)
    return child


def count(store: SyncStore, *states: JobState, queue: str = "default") -> int:
    """How many jobs of a queue are in these states."""
    counts = store.run(reads.queue(queue)).counts
    return sum(counts[state] for state in states)


def all_jobs(store: SyncStore, state: JobState, queue: str = "default") -> Iterator[Job]:
    """Every job of a queue in a state, page by page."""
    offset = 0
    while page := store.run(reads.jobs(queue, state, offset=offset, limit=100)).items:
        yield from page
        offset += len(page)
