"""promote_job: an operator lets one job run before its time."""

import pytest

from leaseforge import operations
from leaseforge.answers import Answer
from leaseforge.errors import BadInput, InvalidTransition, JobNotFound
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.engine.transitions.test_cancel import UNKNOWN, waiting_in
from tests.support.live_queue import LiveQueue


@pytest.mark.parametrize("state", [JobState.SCHEDULED, JobState.RETRYING])
def test_a_job_that_waits_for_its_time_is_ready_at_once(line: LiveQueue, state: JobState) -> None:
    job_id = waiting_in(line, state)
    before = line.job(job_id)
    line.take_wake_token()

    answer = line.run(operations.promote(job_id, operation="op-1"))

    job = line.job(job_id)
    assert answer is Answer.OK
    assert (job.state, job.due_at, job.rev) == (JobState.READY, None, before.rev + 1)
    assert (job.failures, job.attempts) == (before.failures, before.attempts)
    assert line.count("promoted") == 1
    assert line.take_wake_token()
    assert line.claim_one().id == job_id


def test_it_stands_behind_what_waits_at_its_priority(line: LiveQueue) -> None:
    later = line.add(delay_ms=60_000, priority=1)
    first, low = line.add(priority=1), line.add()

    line.run(operations.promote(later, operation="op-1"))

    assert line.ready() == [first, later, low]


def test_the_same_click_twice_is_already_done(line: LiveQueue) -> None:
    job_id = line.add(delay_ms=60_000)
    line.run(operations.promote(job_id, operation="op-1"))
    line.claim_one()

    with line.unchanged():
        assert line.run(operations.promote(job_id, operation="op-1")) is Answer.ALREADY_DONE


@pytest.mark.parametrize("outcome", [None, Outcome.COMPLETE, Outcome.FAIL, Outcome.CANCELLED])
def test_only_what_waits_for_its_time_is_promoted(line: LiveQueue, outcome: Outcome | None) -> None:
    ready, job_id = line.add_many(2)
    claimed = line.claim(2)[1]
    if outcome is not None:
        line.settle(claimed, outcome, permanent="told_so")

    with line.unchanged(), pytest.raises(InvalidTransition):
        line.run(operations.promote(job_id, operation="op-1"))
    with line.unchanged(), pytest.raises(InvalidTransition):
        line.run(operations.promote(ready, operation="op-1"))


def test_the_token_of_an_attempt_before_is_worth_nothing_after(line: LiveQueue) -> None:
    job_id = line.add()
    stale = line.claim_one()
    line.settle(stale, Outcome.FAIL, error_kind="E", delay_ms=60_000)
    line.run(operations.promote(job_id, operation="op-1"))
    line.claim_one()

    with line.unchanged(but_leases=True):
        assert line.settle(stale, Outcome.COMPLETE) is Answer.ALREADY_DONE


def test_a_paused_queue_keeps_it_ready_and_wakes_nobody(line: LiveQueue) -> None:
    job_id = line.add(delay_ms=60_000)
    line.run(operations.pause(line.name))
    line.take_wake_token()

    line.run(operations.promote(job_id, operation="op-1"))

    assert line.ready() == [job_id]
    assert not line.take_wake_token()


def test_unknown_jobs_and_broken_operations_are_told(line: LiveQueue) -> None:
    line.add()
    with pytest.raises(JobNotFound):
        line.run(operations.promote(UNKNOWN, operation="op-1"))
    with pytest.raises(BadInput):
        line.run(operations.promote(UNKNOWN, operation=""))
