"""What producers do in the stories."""

from collections.abc import Sequence
from typing import Any

from e2e.product import Product
from leaseforge import operations, reads
from leaseforge.jobs import Job, JobState
from leaseforge.requests import new_job
from leaseforge.workers import WorkerState
from tests.support import eventually_sync


def enqueue(product: Product, queue: str, *, count: int = 1, type: str = "echo", **fields: Any) -> list[str]:
    """Submits jobs and returns their ids."""
    payload = fields.pop("payload", {"hello": "world"})
    jobs = [new_job(type, payload, queue=queue, created_by="checkout-api", **fields) for _ in range(count)]
    return [enqueued.id for enqueued in product.store.run(operations.enqueue_many(jobs))]


def count(product: Product, queue: str, state: JobState) -> int:
    """How many jobs of the queue are in a state."""
    return product.store.run(reads.queue(queue)).counts[state]


def wait_for_state(product: Product, job_id: str, *states: JobState) -> Job:
    """Waits until the job is in one of the states."""

    def arrived() -> Job | None:
        job = product.store.run(reads.job(job_id))
        return job if job.state in states else None

    found = eventually_sync(arrived, within_s=30.0, every_s=0.1)
    assert found is not None
    return found


def dead_job(product: Product, queue: str, *, payload: Any = None) -> str:
    """A job that failed for good; needs a worker."""
    [job_id] = enqueue(product, queue, type="fail", payload=payload or {"message": "no answer"}, max_attempts=1)
    wait_for_state(product, job_id, JobState.DEAD)
    return job_id


def dead_jobs(product: Product, queue: str, number: int, *, message: str = "no answer from pay.example") -> list[str]:
    """Jobs that failed for good, all alike; needs a worker."""
    ids = enqueue(product, queue, count=number, type="fail", payload={"message": message}, max_attempts=1)
    eventually_sync(lambda: count(product, queue, JobState.DEAD) >= number, within_s=60.0, every_s=0.1)
    return ids


def states(product: Product, ids: Sequence[str]) -> list[JobState]:
    """What state each of the jobs is in."""
    return [product.store.run(reads.job(job_id)).state for job_id in ids]


def pause(product: Product, queues: Sequence[str]) -> None:
    """Pauses queues that exist."""
    for queue in queues:
        product.store.run(operations.pause(queue))


def running_worker(product: Product) -> str:
    """The id of the one worker that runs, once it has reported itself."""

    def reported() -> str | None:
        running = [one.id for one in product.store.run(reads.all_workers()) if one.state is WorkerState.RUNNING]
        return running[0] if len(running) == 1 else None

    found = eventually_sync(reported, within_s=30.0, every_s=0.1)
    assert found is not None
    return found
