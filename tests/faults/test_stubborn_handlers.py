"""Handlers that take too long, block what they should not, or do not stop when told to."""

import signal
from typing import Any

import pytest

from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.faults.audit import audit
from tests.faults.harsh_tasks import harsh
from tests.faults.workers import Crew, log_lines, metric, probe
from tests.support.waiting import eventually
from tests.worker.workers import all_ended, counts, ended, enqueue, many, running, the_job

WORN_OUT = 75


async def test_a_handler_that_takes_ten_leases_runs_once(store: Store, crew: Crew, redis_url: str) -> None:
    workers = crew.workers(2, lease_s=0.5, concurrency=4)
    long = {"ms": 5000}
    ids = await enqueue(store, new_job("work", long), *many("work_in_thread", 2, long), new_job("block_loop", long))
    await eventually(lambda: len(crew.ledger.noted("start")) == 4)

    assert await all_ended(store, 4) == {"completed": 4}

    for job_id in ids:
        job = await the_job(store, job_id)
        assert (job.attempts, job.failures, job.recoveries) == (1, 0, 0)
    assert len(crew.ledger.noted("start")) == 4
    assert {probe(worker, "/livez") for worker in workers} == {200}
    for worker in workers:
        worker.end()
    audit(redis_url, crew.ledger, lease_ms=500)


@pytest.mark.parametrize("stubborn", ["swallows_cancel", "thread_until_gate"])
async def test_the_slots_of_handlers_that_do_not_stop_are_free_after_their_timeout(
    store: Store, crew: Crew, redis_url: str, stubborn: str
) -> None:
    worker = crew.worker(lease_s=0.6, concurrency=3, wrap=harsh)
    stuck = await enqueue(store, *many(stubborn, 2, timeout_ms=200, max_attempts=1))
    for job_id in stuck:
        job = await ended(store, job_id)
        assert (job.state, job.history[-1].outcome, job.attempts) == (JobState.DEAD, "timeout", 1)

    # More at once than the one slot that was never taken could run.
    await enqueue(store, *many("wait_for_gate", 3))
    await running(store, 3)

    assert metric(worker, "leaseforge_worker_abandoned_attempts") == 2
    crew.ledger.gate.touch()
    assert await all_ended(store, 5) == {"completed": 3, "dead": 2}
    await eventually(lambda: metric(worker, "leaseforge_worker_abandoned_attempts") == 0)
    worker.end()
    audit(redis_url, crew.ledger, lease_ms=600)


async def test_a_worker_with_as_many_lost_handlers_as_slots_leaves_and_its_successor_goes_on(
    store: Store, crew: Crew, redis_url: str
) -> None:
    worn = crew.worker(lease_s=0.6, concurrency=2, drain_s=1.0, wrap=harsh)
    once: dict[str, Any] = {"timeout_ms": 200, "max_attempts": 1}
    await enqueue(store, new_job("swallows_cancel", **once), new_job("thread_until_gate", **once))

    assert worn.wait() == WORN_OUT
    assert log_lines(worn, "worker_worn_out")
    await enqueue(store, *many("work", 20, {"ms": 1}))
    successor = crew.worker(lease_s=0.6)

    assert await all_ended(store, 22) == {"completed": 20, "dead": 2}
    successor.end()
    audit(redis_url, crew.ledger, lease_ms=600)


async def test_a_drain_is_over_in_its_time_whatever_handlers_do(store: Store, crew: Crew, redis_url: str) -> None:
    worker = crew.worker(lease_s=0.6, concurrency=4, drain_s=0.3, wrap=harsh)
    ids = await enqueue(store, *many("swallows_cancel", 2), *many("thread_until_gate", 2))
    await eventually(lambda: len(crew.ledger.noted("start")) == 4)

    worker.signal(signal.SIGTERM)

    assert worker.wait() == 0
    assert await counts(store) == {"ready": 4}
    jobs = [await the_job(store, job_id) for job_id in ids]
    assert {(job.failures, job.recoveries, job.releases) for job in jobs} == {(0, 0, 1)}
    audit(redis_url, crew.ledger, ended=False, lease_ms=600)
