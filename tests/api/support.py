"""Jobs brought into the states a test needs, the way a worker would."""

from itertools import count

from leaseforge import exchanges, operations
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge.workers import WorkerReport, WorkerState

RUN_ID = "tester"
NUMBERS = count(1)


async def claim_job(store: Store, queue: str = "default", *, unique_key: str | None = None) -> Claimed:
    """A job of this queue that is running now."""
    await store.run(operations.enqueue(new_job("echo", {"a": 1}, queue=queue, unique_key=unique_key)))
    return await claim_next(store, queue)


async def claim_next(store: Store, queue: str) -> Claimed:
    """The job of this queue that is next, running from now on."""
    exchanged = await store.run(exchanges.exchange(queue, run_id=RUN_ID, number=next(NUMBERS), lease_ms=60_000, want=1))
    return exchanged.claimed[0]


async def settle(store: Store, claimed: Claimed, outcome: Outcome, **settlement: object) -> None:
    """End its attempt."""
    ended = Settlement(claimed.id, claimed.token, outcome, **settlement)  # type: ignore[arg-type]
    call = exchanges.exchange(
        claimed.queue, run_id=RUN_ID, number=next(NUMBERS), lease_ms=60_000, want=0, settlements=[ended]
    )
    await store.run(call)


async def kill_job(store: Store, queue: str = "default", *, unique_key: str | None = None) -> str:
    """The id of a job that failed for good."""
    claimed = await claim_job(store, queue, unique_key=unique_key)
    await settle(store, claimed, Outcome.FAIL, error_kind="ValueError", error_message="no such address", max_attempts=1)
    return claimed.id


async def report_worker(store: Store, worker_id: str) -> None:
    """Make a worker known."""
    await store.run(exchanges.register_worker(worker_report(worker_id)))


def worker_report(worker_id: str) -> WorkerReport:
    """What a worker says of itself."""
    return WorkerReport(
        id=worker_id,
        host="here",
        pid=1,
        version="0.1.0",
        queues=("default",),
        types=("echo",),
        slots=4,
        state=WorkerState.RUNNING,
        rss_bytes=1,
        started_ms=1_700_000_000_000,
        ttl_ms=60_000,
    )
