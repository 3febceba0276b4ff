"""promote: scheduled | retrying -> ready."""

from leaseforge import operations
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue


def retrying(line: LiveQueue) -> str:
    """A job that waits out its backoff."""
    job_id = line.add(priority=99)
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", delay_ms=60_000)
    return job_id


def test_a_due_job_becomes_ready_with_a_new_place(line: LiveQueue) -> None:
    job_id = line.add(delay_ms=60_000)
    waiting = line.add()
    line.take_wake_token()
    line.make_due(job_id)
    before_ms = line.now_ms()

    assert line.tick().promoted == 1

    assert line.ready() == [waiting, job_id]
    job = line.job(job_id)
    assert (job.state, job.rev) == (JobState.READY, 2)
    assert job.ready_at is not None
    assert job.ready_at.timestamp() * 1000 >= before_ms
    assert line.count("promoted") == 1
    assert line.take_wake_token()


def test_an_exchange_promotes_before_it_claims(line: LiveQueue) -> None:
    job_id = line.add(delay_ms=60_000)
    line.make_due(job_id)

    assert line.claim_one().id == job_id


def test_what_is_not_due_stays(line: LiveQueue) -> None:
    later, retry = line.add(delay_ms=60_000), retrying(line)

    assert line.tick().promoted == 0

    assert [line.state(job_id) for job_id in (later, retry)] == [JobState.SCHEDULED, JobState.RETRYING]


def test_the_earliest_due_comes_first_whichever_set_it_waited_in_and_equal_times_by_id(line: LiveQueue) -> None:
    second, tied_late, tied_early = (line.add(delay_ms=60_000) for _ in range(3))
    [tied_early, tied_late] = sorted([tied_early, tied_late])
    first = retrying(line)
    line.raw.hdel(line.record_key(first), "priority")
    now = line.now_ms()
    line.make_due(first, at_ms=now - 300)
    line.make_due(second, at_ms=now - 200)
    line.make_due(tied_early, tied_late, at_ms=now - 100)

    line.tick()

    assert line.ready() == [first, second, tied_early, tied_late]


def test_priority_decides_among_promoted_jobs(line: LiveQueue) -> None:
    low, high = line.add(delay_ms=60_000, priority=-1), line.add(delay_ms=60_000, priority=1)
    line.make_due(low, high)

    line.tick()

    assert line.ready() == [high, low]


def test_a_sweep_promotes_a_bounded_number_over_both_sets(line: LiveQueue) -> None:
    ids = [line.add(delay_ms=60_000) for _ in range(3)]
    retry = retrying(line)
    now = line.now_ms()
    for age, job_id in enumerate([*ids, retry]):
        line.make_due(job_id, at_ms=now - 1000 - age)

    ticked = line.tick(limit=2)

    assert (ticked.promoted, ticked.full, ticked.next_due_ms) == (2, True, 0)
    assert line.ready() == [retry, ids[2]]
    assert line.tick(limit=2).promoted == 2
    assert line.tick(limit=2).promoted == 0


def test_a_paused_queue_promotes_too_but_wakes_nobody(line: LiveQueue) -> None:
    job_id = line.add(delay_ms=60_000)
    line.run(operations.pause(line.name))
    line.make_due(job_id)

    line.tick()

    assert line.state(job_id) is JobState.READY
    assert not line.take_wake_token()


def test_an_exchange_promotes_at_most_two_hundred(line: LiveQueue) -> None:
    ids = line.add_many(201, delay_ms=60_000)
    line.make_due(*ids)

    line.exchange(0)

    assert len(line.ready()) == 200
    line.exchange(0)
    assert len(line.ready()) == 201


def test_a_promoted_job_keeps_what_it_was_scheduled_for(line: LiveQueue) -> None:
    job_id = line.add(delay_ms=60_000)
    scheduled_at = line.job(job_id).scheduled_at
    line.make_due(job_id)

    line.tick()

    job = line.job(job_id)
    assert (job.scheduled_at, job.due_at) == (scheduled_at, None)
