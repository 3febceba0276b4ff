"""Without a fault nothing may look like one: busy workers keep their leases, and every job runs once."""

from collections import Counter

from leaseforge.store import Store
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.workers import Crew
from tests.worker.workers import all_ended, enqueue, many


async def test_blocking_handlers_of_both_kinds_keep_their_leases(
    store: Store, crew: Crew, ledger: Ledger, redis_url: str
) -> None:
    crew.workers(2, lease_s=1.0, concurrency=4)
    ids = await enqueue(store, *many("work_in_thread", 3, {"ms": 2500}), *many("block_loop", 2, {"ms": 2500}))

    assert await all_ended(store, 5) == {"completed": 5}
    assert Counter(line.job for line in ledger.noted("start")) == Counter(ids)
    assert "recovered" not in audit(redis_url, ledger)["default"].counts


async def test_two_workers_run_each_job_once(store: Store, crew: Crew, ledger: Ledger, redis_url: str) -> None:
    crew.workers(2, lease_s=10.0)
    ids = await enqueue(store, *many("work", 300, {"ms": 5}))

    assert await all_ended(store, 300) == {"completed": 300}
    assert Counter(line.job for line in ledger.noted("start")) == Counter(ids)
    audit(redis_url, ledger)
