"""settle, crash: running -> retrying | dead | cancelled, charged to the budget that lost leases are charged to."""

import pytest

from leaseforge import limits, operations
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobError, JobState
from tests.support.live_queue import LiveQueue

DIED = {"error_kind": "SIGSEGV", "error_message": "the child process was killed by SIGSEGV"}


def crash(line: LiveQueue, job_id: str) -> None:
    """The job takes its child process down once."""
    line.make_due(job_id)
    line.exchange(0)
    claimed = line.claim_one()
    assert claimed.id == job_id
    assert line.settle(claimed, Outcome.CRASH, **DIED, delay_ms=60_000) is Answer.OK


def lose(line: LiveQueue, job_id: str) -> None:
    """A worker is lost with the job."""
    line.make_due(job_id)
    line.exchange(0)
    assert line.claim_one().id == job_id
    line.expire(job_id)
    line.tick()


def test_a_crash_waits_out_its_pause_and_is_no_failure(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one(run_id="w")
    before_ms = line.now_ms()

    line.settle(claimed, Outcome.CRASH, **DIED, delay_ms=60_000, max_attempts=1)

    job = line.job(job_id)
    assert (job.state, job.failures, job.recoveries, job.attempts) == (JobState.RETRYING, 0, 1, 1)
    assert job.error == JobError("SIGSEGV", DIED["error_message"])
    due = line.snapshot().sets["retrying"][job_id]
    assert 60_000 <= due - before_ms < 70_000
    [attempt] = job.history
    assert (attempt.outcome, attempt.worker, attempt.fence) == ("crashed", "w", claimed.fence)
    assert attempt.error == JobError("SIGSEGV", DIED["error_message"])
    assert [line.count(name) for name in ("crashed", "failed", "retried", "recovered")] == [1, 0, 0, 0]


def test_crashes_beyond_the_budget_are_poison(line: LiveQueue) -> None:
    job_id = line.add()

    for _ in range(limits.MAX_RECOVERIES + 1):
        assert line.state(job_id) is not JobState.DEAD
        crash(line, job_id)

    job = line.job(job_id)
    assert (job.state, job.reason, job.failures) == (JobState.DEAD, "poison", 0)
    assert job.finished_at is not None
    assert [attempt.outcome for attempt in job.history] == ["crashed"] * (limits.MAX_RECOVERIES + 1)
    assert line.count("dead") == 1


def test_lost_leases_and_crashes_spend_one_budget_and_join_one_group(line: LiveQueue) -> None:
    one, other = line.add(), line.add(priority=-1)
    for _ in range(2):
        crash(line, one)
        lose(line, one)
    for _ in range(2):
        lose(line, other)
        crash(line, other)

    first, second = line.job(one), line.job(other)
    assert [(job.state, job.reason, job.recoveries) for job in (first, second)] == [(JobState.DEAD, "poison", 4)] * 2
    assert first.group == second.group == "poison:work"


def test_a_job_asked_to_stop_is_cancelled_by_its_crash(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.run(operations.cancel(job_id, operation="stop"))

    line.settle(claimed, Outcome.CRASH, **DIED)

    assert line.state(job_id) is JobState.CANCELLED
    assert not line.job(job_id).cancel_requested


@pytest.mark.parametrize("again", [Outcome.CRASH, Outcome.COMPLETE, Outcome.FAIL])
def test_a_crash_is_charged_once(line: LiveQueue, again: Outcome) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.settle(claimed, Outcome.CRASH, **DIED, delay_ms=60_000)

    with line.unchanged():
        assert line.settle(claimed, again) is Answer.ALREADY_DONE

    assert line.job(job_id).recoveries == 1


def test_a_replay_gives_the_budget_back(line: LiveQueue) -> None:
    job_id = line.add()
    for _ in range(limits.MAX_RECOVERIES + 1):
        crash(line, job_id)

    line.run(operations.retry(job_id, operation="again"))
    crash(line, job_id)

    assert (line.state(job_id), line.job(job_id).recoveries) == (JobState.RETRYING, 1)


def test_a_crash_that_ends_a_job_frees_its_unique_key(line: LiveQueue) -> None:
    job_id = line.add(unique_key="one")
    for _ in range(limits.MAX_RECOVERIES + 1):
        assert line.add(unique_key="one") == job_id
        crash(line, job_id)

    assert line.add(unique_key="one") != job_id
