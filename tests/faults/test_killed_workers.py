"""kill -9 of workers: in handlers, with jobs claimed ahead, and at each of their calls to Redis."""

import os
import random
import signal
from functools import partial

import pytest

from leaseforge.jobs import NewJob
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced, Producer
from tests.faults.workers import Crew
from tests.support.processes import Process
from tests.support.waiting import eventually
from tests.worker.workers import all_ended, counts, ended, enqueue, many, running, the_job

CALLS = (
    "schema:1",
    "register_worker:1",
    "register_worker:3",
    "wait:1",
    "exchange:1",
    "exchange:3",
    "renew:1",
    "tick:1",
    "tick:3",
    "read_outbox:1",
    "forwarded:1",
    "enqueue:1",
)


@pytest.mark.parametrize("ms", [0, 40], ids=["mid-batch", "mid-job"])
async def test_every_job_ends_and_none_is_charged_when_a_worker_is_killed(
    store: Store, crew: Crew, ledger: Ledger, produced: Produced, redis_url: str, ms: int
) -> None:
    doomed = crew.worker()
    ids = await enqueue(store, *many("work", 250, {"ms": ms}), *many("work_in_thread", 50, {"ms": ms}))
    produced.add(*ids)
    await eventually(lambda: len(ledger.noted("end")) >= 30)

    os.kill(doomed.pid, signal.SIGKILL)
    crew.worker()

    await all_ended(store, 300)
    queue = audit(redis_url, ledger, produced, lease_ms=2000)["default"]
    assert {(job["state"], job.get("failures", "0")) for job in queue.records.values()} == {("completed", "0")}
    assert queue.counts.get("recovered", 0) == sum(int(job.get("recoveries", 0)) for job in queue.records.values())


async def test_every_job_ends_when_workers_are_killed_at_random(
    store: Store, crew: Crew, ledger: Ledger, produced: Produced, redis_url: str, chance: random.Random
) -> None:
    """A job that is there each time becomes poison: that is its budget, not a loss."""
    fast = {"max_attempts": 2, "backoff": "fixed", "backoff_base_ms": 10}
    jobs = [
        *many("work", 200, {"ms": 20}),
        *many("work_in_thread", 50, {"ms": 20}),
        *many("breaks", 30, **fast),
        *many("needs_number", 20, 1, delay_ms=300),
    ]
    chance.shuffle(jobs)
    produced.add(*await enqueue(store, *jobs))

    for victim in crew.workers(3, concurrency=4):
        seen = len(ledger.lines())
        goal = seen + chance.randrange(1, 40)
        await eventually(lambda goal=goal: len(ledger.lines()) >= goal)  # type: ignore[misc]  # bound now, not later
        os.kill(victim.pid, signal.SIGKILL)
    crew.worker()

    await all_ended(store, 300)
    queue = audit(redis_url, ledger, produced, lease_ms=2000)["default"]
    broken = [job for job in queue.records.values() if job["type"] == "breaks"]
    assert {job["state"] for job in broken} == {"dead"}
    assert {job.get("failures", "0") for job in queue.records.values() if job["type"] != "breaks"} == {"0"}


@pytest.mark.parametrize("when", ["before", pytest.param("after", marks=pytest.mark.soak)])
async def test_every_job_ends_when_workers_die_at_each_of_their_calls(
    store: Store, crew: Crew, ledger: Ledger, produced: Produced, redis_url: str, when: str
) -> None:
    """Workers that die at a call stand for all moments between two calls: nothing else of theirs reaches Redis."""

    def make(number: int, id: str) -> NewJob:
        if number % 3 == 0:
            return new_job("fans_out", {"other": "other", "taken_key": "taken"}, id=id)
        return new_job("work", {"ms": 800 if number % 3 == 1 else 10}, id=id)

    def all_died(doomed: dict[str, Process]) -> bool:
        assert {child.returncode for child in doomed.values()} <= {None, -signal.SIGKILL}, [
            child.output() for child in doomed.values() if child.returncode not in (None, -signal.SIGKILL)
        ]
        alive = [point for point, child in doomed.items() if child.returncode is None]
        assert not alive, f"alive are {alive}"
        return True

    with Producer(redis_url, produced, count=1500, make=make, pause_s=0.07) as producer:
        for start in range(0, len(CALLS), 4):
            points = CALLS[start : start + 4]
            doomed = {
                point: crew.worker(
                    failpoint=f"{when}:{point}",
                    ready=False,
                    # Only a worker that has caught up with the producer waits.
                    concurrency=64 if point.startswith("wait") else 2,
                    LEASEFORGE_WORKER_QUEUES="default,other",
                )
                for point in points
            }
            await eventually(partial(all_died, doomed), within_s=60)
        producer.stop()
        producer.join(30)
    crew.worker(concurrency=64, LEASEFORGE_WORKER_QUEUES="default,other")

    await eventually(lambda: nothing_is_live(store, "default", "other"), within_s=60, every_s=0.1)
    queues = audit(redis_url, ledger, produced, lease_ms=2000)
    for queue in queues.values():
        assert {job.get("failures", "0") for job in queue.records.values()} == {"0"}
        assert {job.get("reason") for job in queue.records.values()} <= {None, "poison"}


async def test_a_worker_that_dies_while_it_leaves_has_left_nothing(
    store: Store, crew: Crew, ledger: Ledger, redis_url: str
) -> None:
    doomed = crew.worker(failpoint="before:deregister_worker:1", drain_s=0.0)
    await enqueue(store, *many("wait_for_gate", 8))
    await running(store, 8)

    doomed.signal(signal.SIGTERM)
    assert doomed.wait() == -signal.SIGKILL

    assert await counts(store) == {"ready": 8}
    ledger.gate.touch()
    crew.worker()
    await all_ended(store, 8)
    audit(redis_url, ledger)


async def test_a_killed_workers_wake_token_is_not_missed(store: Store, crew: Crew) -> None:
    """Two idle workers; the one that may have taken the token dies with it: the sweep puts one back."""
    first, _ = crew.workers(2)
    for victim in (first, None):
        if victim is not None:
            os.kill(victim.pid, signal.SIGSTOP)
        ids = await enqueue(store, *many("work", 5, {"ms": 1}))
        if victim is not None:
            os.kill(victim.pid, signal.SIGKILL)
        for job_id in ids:
            await ended(store, job_id)


async def test_jobs_survive_as_many_lost_leases_as_they_may_and_no_more(
    store: Store, crew: Crew, ledger: Ledger, redis_url: str
) -> None:
    [job_id] = await enqueue(store, new_job("wait_for_gate"))
    for claims in range(1, 5):
        worker = crew.worker(lease_s=0.5, concurrency=1, LEASEFORGE_BACKOFF_BASE="0.05")
        await eventually(lambda claims=claims: len(ledger.noted("start")) == claims, within_s=30)  # type: ignore[misc]
        os.kill(worker.pid, signal.SIGKILL)
    crew.worker(lease_s=0.5, concurrency=1)

    job = await ended(store, job_id)
    assert (job.state, job.reason, job.failures, job.recoveries) == ("dead", "poison", 0, 4)
    assert len((await the_job(store, job_id)).history) == 4
    audit(redis_url, ledger, lease_ms=500)


async def nothing_is_live(store: Store, *queues: str) -> bool:
    """Whether no queue has anything left to do, follow-ups between them included."""
    for queue in queues:
        found = await counts(store, queue)
        if set(found) - {"completed", "dead", "cancelled"}:
            return False
    return True
