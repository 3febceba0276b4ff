"""Workers that sleep past their leases and wake up: nothing they do then may count."""

import os
import signal

from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced
from tests.faults.workers import Crew, log_lines, metric
from tests.support.waiting import eventually
from tests.worker.workers import all_ended, ended, enqueue, many


async def test_a_worker_that_slept_past_its_lease_settles_nothing_and_starts_nothing_old(
    store: Store, crew: Crew, ledger: Ledger, produced: Produced, redis_url: str
) -> None:
    """Its handlers are cancelled, its results refused and counted; jobs it had claimed ahead never start there."""
    sleeper = crew.worker()
    ids = await enqueue(store, *many("wait_for_gate", 4), *many("thread_until_gate", 4))
    await eventually(lambda: len(ledger.noted("start")) == 8)
    os.kill(sleeper.pid, signal.SIGSTOP)
    produced.add(*ids, *await enqueue(store, *many("work", 200, {"ms": 5})))

    crew.worker()
    await eventually(lambda: all(len(ledger.noted("start", job_id)) == 2 for job_id in ids), within_s=30)
    os.kill(sleeper.pid, signal.SIGCONT)
    await eventually(lambda: len({line.job for line in ledger.noted("cancelled")}) == 4, within_s=30)
    assert {line.pid for line in ledger.noted("cancelled")} == {sleeper.pid}
    ledger.gate.touch()

    assert await all_ended(store, 208) == {"completed": 208}
    await eventually(lambda: len({line["job_id"] for line in log_lines(sleeper, "job_fenced")}) == 8, within_s=30)
    await eventually(lambda: metric(sleeper, "leaseforge_worker_fenced_writes_total") >= 8)
    [probe] = await enqueue(store, new_job("work", {"ms": 1}))
    await ended(store, probe)
    queue = audit(redis_url, ledger, produced, lease_ms=2000)["default"]
    assert {job.get("failures", "0") for job in queue.records.values()} == {"0"}


async def test_a_late_result_is_refused_after_another_worker_had_the_job(
    store: Store, crew: Crew, ledger: Ledger, redis_url: str
) -> None:
    """The sleeper's handlers return the moment it wakes, before it can know: their results come late all the same."""
    sleeper = crew.worker(concurrency=4)
    ids = await enqueue(store, *many("wait_for_gate", 4))
    await eventually(lambda: len(ledger.noted("start")) == 4)
    os.kill(sleeper.pid, signal.SIGSTOP)
    second = crew.worker(concurrency=4)
    await eventually(lambda: len(ledger.noted("start")) == 8, within_s=30)

    ledger.gate.touch()
    assert await all_ended(store, 4) == {"completed": 4}
    os.kill(sleeper.pid, signal.SIGCONT)

    await eventually(lambda: len({line["job_id"] for line in log_lines(sleeper, "job_fenced")}) == 4, within_s=30)
    for job_id in ids:
        job = await ended(store, job_id)
        [highest] = {line.fence for line in ledger.noted("end", job_id) if line.pid == second.pid}
        assert job.result == str(highest).encode()
        assert (job.attempts, job.failures, job.recoveries) == (2, 0, 1)
    audit(redis_url, ledger, lease_ms=2000)
