"""cancel: what waits ends at once, what runs is asked to stop; requeue: what ended runs once more."""

import pytest

from leaseforge import operations
from leaseforge.answers import Answer
from leaseforge.errors import InvalidTransition, JobNotFound
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def waiting_in(line: LiveQueue, state: JobState) -> str:
    """A job that waits in this state."""
    if state is JobState.SCHEDULED:
        return line.add(delay_ms=60_000)
    job_id = line.add()
    if state is JobState.RETRYING:
        line.settle(line.claim_one(), Outcome.FAIL, error_kind="E", delay_ms=60_000)
    return job_id


@pytest.mark.parametrize("state", [JobState.READY, JobState.SCHEDULED, JobState.RETRYING])
def test_a_job_that_waits_is_cancelled_at_once(line: LiveQueue, state: JobState) -> None:
    job_id = waiting_in(line, state)

    answer = line.run(operations.cancel(job_id, operation="op-1"))

    job = line.job(job_id)
    assert answer is Answer.OK
    assert job.state is JobState.CANCELLED
    assert job.finished_at is not None
    assert line.count("cancelled") == 1
    assert not line.claim(1)


def test_a_running_job_is_asked_to_stop_and_keeps_its_lease(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()

    answer = line.run(operations.cancel(job_id, operation="op-1"))

    job = line.job(job_id)
    assert answer is Answer.OK
    assert (job.state, job.cancel_requested) == (JobState.RUNNING, True)
    assert line.renew(claimed) == (Answer.CANCELLED,)
    line.settle(claimed, Outcome.CANCELLED)
    assert line.state(job_id) is JobState.CANCELLED


def test_the_same_click_twice_is_already_done(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    line.run(operations.cancel(job_id, operation="op-1"))

    with line.unchanged():
        assert line.run(operations.cancel(job_id, operation="op-1")) is Answer.ALREADY_DONE


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL, Outcome.CANCELLED])
def test_what_has_ended_cannot_be_cancelled(line: LiveQueue, outcome: Outcome) -> None:
    job_id = line.add()
    line.settle(line.claim_one(), outcome, permanent="told_so")

    with line.unchanged(), pytest.raises(InvalidTransition):
        line.run(operations.cancel(job_id, operation="op-1"))


def test_an_unknown_job_cannot_be_cancelled(line: LiveQueue) -> None:
    line.add()

    with pytest.raises(JobNotFound):
        line.run(operations.cancel(UNKNOWN, operation="op-1"))


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL, Outcome.CANCELLED])
def test_requeue_lets_any_ended_job_run_once_more(line: LiveQueue, outcome: Outcome) -> None:
    job_id = line.add()
    line.settle(line.claim_one(), outcome, result=b"1", permanent="told_so")
    line.take_wake_token()

    answer = line.run(operations.requeue(job_id, operation="op-1"))

    job = line.job(job_id)
    assert answer is Answer.OK
    assert (job.state, job.result, job.reason, job.finished_at, job.replays) == (JobState.READY, None, None, None, 1)
    assert line.take_wake_token()
    assert line.claim_one().attempt == 2


def test_a_live_job_cannot_be_requeued(line: LiveQueue) -> None:
    job_id = line.add()

    with line.unchanged(), pytest.raises(InvalidTransition):
        line.run(operations.requeue(job_id, operation="op-1"))


def test_the_same_requeue_twice_is_already_done(line: LiveQueue) -> None:
    job_id = line.add()
    line.settle(line.claim_one(), Outcome.COMPLETE)
    line.run(operations.requeue(job_id, operation="op-1"))
    line.settle(line.claim_one(), Outcome.COMPLETE)

    with line.unchanged():
        assert line.run(operations.requeue(job_id, operation="op-1")) is Answer.ALREADY_DONE


@pytest.mark.parametrize("state", [JobState.READY, JobState.SCHEDULED, JobState.RETRYING])
def test_only_jobs_in_the_states_asked_for_are_cancelled(line: LiveQueue, state: JobState) -> None:
    job_id = waiting_in(line, state)
    others = [one for one in JobState if one is not state]

    with line.unchanged(), pytest.raises(InvalidTransition, match=state):
        line.run(operations.cancel(job_id, operation="op-1", only=others))
    line.run(operations.cancel(job_id, operation="op-1", only=[JobState.DEAD, state]))

    assert line.state(job_id) is JobState.CANCELLED
