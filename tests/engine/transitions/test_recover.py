"""recover: running with an expired lease -> ready | retrying | dead | cancelled."""

import pytest

from leaseforge import operations
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobError, JobState
from tests.support.live_queue import LiveQueue


def lose(line: LiveQueue, job_id: str, **options: int) -> None:
    """A worker claims the job and is never heard of again; the next sweep finds its lease expired."""
    line.make_due(job_id)
    line.exchange(0)
    claimed = line.claim_one(run_id="lost-worker")
    assert claimed.id == job_id
    line.expire(job_id)
    line.tick(**options)


def test_the_first_loss_puts_a_job_back_at_once_in_its_old_place(line: LiveQueue) -> None:
    first, second = line.add(), line.add()
    claimed = line.claim_one(run_id="lost-worker")
    line.take_wake_token()
    line.expire(first)
    before_ms = line.now_ms()

    ticked = line.tick()

    assert (ticked.recovered, ticked.dead, ticked.full) == (1, 0, False)
    assert line.ready() == [first, second]
    job = line.job(first)
    assert (job.state, job.recoveries, job.failures, job.attempts) == (JobState.READY, 1, 0, 1)
    assert job.ready_at is not None
    assert job.ready_at.timestamp() * 1000 >= before_ms
    [attempt] = job.history
    assert (attempt.outcome, attempt.worker, attempt.fence) == ("lost", "lost-worker", claimed.fence)
    assert attempt.error == JobError("lease_lost", "the worker stopped renewing its lease")
    assert line.field(first, "token") == ""
    assert line.count("recovered") == 1
    assert line.take_wake_token()
    assert line.claim_one().attempt == 2


def test_later_losses_wait_longer_each_time_up_to_the_cap(line: LiveQueue) -> None:
    job_id = line.add()
    pauses = []

    for _ in range(5):
        before_ms = line.now_ms()
        lose(line, job_id, max_recoveries=9, backoff_base_ms=100_000, backoff_cap_ms=300_000, spread=0)
        due = line.snapshot().sets["retrying"].get(job_id)
        pauses.append(0 if due is None else round((due - before_ms) / 100_000))

    assert pauses == [0, 1, 2, 3, 3]
    assert line.job(job_id).recoveries == 5
    assert line.job(job_id).failures == 0


def test_jobs_lost_together_come_back_apart_and_then_in_the_opposite_order(line: LiveQueue) -> None:
    jobs = [line.add() for _ in range(20)]
    orders: list[list[str]] = []
    for _ in range(3):
        line.make_due(*jobs)
        line.exchange(0)
        claimed = line.exchange(20).claimed
        assert {job.id for job in claimed} == set(jobs)
        line.expire(*jobs)
        before_ms = line.now_ms()
        line.tick(max_recoveries=9, backoff_base_ms=100_000, backoff_cap_ms=100_000)
        due = line.snapshot().sets["retrying"]
        assert all(50_000 <= at - before_ms <= 102_000 for at in due.values())
        orders.append(sorted(due, key=lambda job_id: due[job_id]))

    assert orders[0] == []
    assert len(set(orders[1])) == 20
    assert orders[2] == orders[1][::-1]


def test_a_job_that_loses_a_lease_too_often_is_poison(line: LiveQueue) -> None:
    job_id = line.add()

    for _ in range(4):
        assert line.state(job_id) is not JobState.DEAD
        lose(line, job_id)

    job = line.job(job_id)
    assert (job.state, job.reason, job.recoveries, job.failures) == (JobState.DEAD, "poison", 4, 0)
    assert job.finished_at is not None
    assert [attempt.outcome for attempt in job.history] == ["lost"] * 4
    assert (line.count("recovered"), line.count("dead")) == (3, 1)


def test_poison_is_told_by_the_tick(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    line.expire(job_id)

    ticked = line.tick(max_recoveries=0)

    assert (ticked.recovered, ticked.dead) == (0, 1)
    assert line.state(job_id) is JobState.DEAD


def test_losses_and_failures_are_separate_budgets(line: LiveQueue) -> None:
    job_id = line.add()
    lose(line, job_id)
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", max_attempts=2)
    line.exchange(0)
    lose(line, job_id)

    job = line.job(job_id)
    assert (job.failures, job.recoveries, job.attempts) == (1, 2, 3)
    assert job.state is JobState.RETRYING


def test_a_lease_that_is_not_over_is_left_alone(line: LiveQueue) -> None:
    ids = line.add_many(2)
    line.claim(2)
    line.expire(ids[0])

    assert line.tick().recovered == 1

    assert line.state(ids[1]) is JobState.RUNNING


def test_a_job_asked_to_stop_is_cancelled_when_its_worker_is_lost(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    line.raw.hset(line.record_key(job_id), "cancel_requested", "1")
    line.expire(job_id)

    line.tick()

    job = line.job(job_id)
    assert job.state is JobState.CANCELLED
    assert job.finished_at is not None
    assert line.count("cancelled") == 1


def test_a_sweep_takes_a_bounded_number_the_longest_expired_first(line: LiveQueue) -> None:
    ids = line.add_many(5)
    line.claim(5)
    line.expire(*ids[2:])
    line.raw.zadd(line.key("running"), {ids[4]: 1, ids[3]: 2})

    ticked = line.tick(limit=2)

    assert (ticked.recovered, ticked.full) == (2, True)
    assert line.ready() == [ids[3], ids[4]]
    assert line.tick(limit=2).recovered == 1


def test_two_hundred_are_recovered_by_one_sweep(line: LiveQueue) -> None:
    ids = line.add_many(201)
    line.claim(200)
    line.claim(1)
    line.expire(*ids)

    first, second = line.tick(limit=200), line.tick(limit=200)

    assert (first.recovered, first.full) == (200, True)
    assert (second.recovered, second.full) == (1, False)
    assert line.ready() == ids


def test_a_paused_queue_recovers_too_but_wakes_nobody(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    line.take_wake_token()
    line.run(operations.pause(line.name))
    line.expire(job_id)

    line.tick()

    assert line.state(job_id) is JobState.READY
    assert not line.take_wake_token()


@pytest.mark.parametrize("priority", [-5, 2**31 - 1])
def test_a_recovered_job_keeps_its_priority(line: LiveQueue, priority: int) -> None:
    job_id = line.add(priority=priority)

    lose(line, job_id)

    assert line.claim_one().priority == priority
