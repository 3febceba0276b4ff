"""Many sweepers on one queue: each expiry, each due time is handled once, whoever comes first."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from leaseforge import exchanges, operations, reads
from leaseforge.exchanges import Outcome, Settlement, Ticked
from leaseforge.store import Store, SyncStore, connect_sync
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.workers import Crew
from tests.support.waiting import eventually
from tests.worker.workers import counts, enqueue, many

JOBS = 200
"""Of each kind: an expired lease, a due retry, a due schedule."""


async def arrange(store: Store) -> None:
    """A paused queue in which everything becomes due for a sweep within the next moment."""
    for number in (1, 2):
        await enqueue(store, *many("work", JOBS, {"ms": 1}))
        call = exchanges.exchange("default", run_id="gone", number=number, lease_ms=500, want=JOBS)
        claimed = (await store.run(call)).claimed
        if number == 1:
            failures = [
                Settlement(job.id, job.token, Outcome.FAIL, job_type="work", max_attempts=5, delay_ms=300)
                for job in claimed
            ]
            await store.run(
                exchanges.exchange("default", run_id="other", number=1, lease_ms=500, want=0, settlements=failures)
            )
    await enqueue(store, *many("work", JOBS, {"ms": 1}, delay_ms=300))
    await store.run(operations.pause("default"))


def busy(store: SyncStore) -> bool:
    """Whether something waits for a sweep."""
    found = store.run(reads.queue("default")).counts
    return any(count for state, count in found.items() if state != "ready")


async def all_is_ready(store: Store) -> bool:
    return await counts(store) == {"ready": 3 * JOBS}


@pytest.mark.parametrize("sweepers", [2, pytest.param(6, marks=pytest.mark.soak)])
async def test_each_expiry_and_due_time_is_handled_once_by_many_workers(
    store: Store, crew: Crew, ledger: Ledger, redis_url: str, sweepers: int
) -> None:
    await arrange(store)
    crew.workers(sweepers)

    await eventually(lambda: all_is_ready(store), within_s=30)

    queue = audit(redis_url, ledger, ended=False, lease_ms=500)["default"]
    assert (queue.counts["recovered"], queue.counts["promoted"]) == (JOBS, 2 * JOBS)
    assert {int(job.get("recoveries", 0)) + int(job.get("failures", 0)) for job in queue.records.values()} == {0, 1}
    assert not ledger.lines()


async def test_sweeps_at_the_same_moment_share_the_work(store: Store, redis_url: str) -> None:
    """Sixteen threads sweep in small steps as fast as they can: what they say they did adds up to what there was."""
    await arrange(store)

    def sweep(_: int) -> list[Ticked]:
        deadline = time.monotonic() + 60
        with connect_sync(redis_url) as own:
            swept = [own.run(exchanges.tick("default", limit=7))]
            while time.monotonic() < deadline and busy(own):
                swept.append(own.run(exchanges.tick("default", limit=7)))
        return swept

    with ThreadPoolExecutor(16) as threads:
        swept = [one for answers in threads.map(sweep, range(16)) for one in answers]

    assert sum(one.recovered for one in swept) == JOBS
    assert sum(one.promoted for one in swept) == 2 * JOBS
    assert await all_is_ready(store)
    audit(redis_url, ended=False, lease_ms=500)
