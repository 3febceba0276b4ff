"""settle: running -> retrying | dead | cancelled, after an error or a timeout."""

import pytest

from leaseforge import limits
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobError, JobState
from tests.support.live_queue import LiveQueue


def test_a_failure_with_budget_left_waits_out_its_backoff(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one(run_id="worker-7")
    before_ms = line.now_ms()

    line.settle(
        claimed,
        Outcome.FAIL,
        error_kind="ValueError",
        error_message="no such user",
        traceback="Traceback …",
        max_attempts=3,
        delay_ms=60_000,
    )

    job = line.job(job_id)
    assert (job.state, job.failures, job.attempts) == (JobState.RETRYING, 1, 1)
    assert job.due_at is not None
    assert before_ms + 60_000 <= job.due_at.timestamp() * 1000 <= line.now_ms() + 60_000
    assert job.error == JobError("ValueError", "no such user")
    assert (job.finished_at, job.reason) == (None, None)
    [attempt] = job.history
    assert (attempt.number, attempt.outcome, attempt.worker) == (1, "failed", "worker-7")
    assert (attempt.fence, attempt.traceback) == (claimed.fence, "Traceback …")
    assert attempt.error == job.error
    assert attempt.started_at == job.started_at
    assert (line.count("failed"), line.count("retried"), line.count("dead")) == (1, 1, 0)


def test_a_failure_that_spends_the_budget_is_dead(line: LiveQueue) -> None:
    job_id = line.add()
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", max_attempts=2)
    line.exchange(0)  # promotes

    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", max_attempts=2, delay_ms=60_000)

    job = line.job(job_id)
    assert (job.state, job.failures, job.reason) == (JobState.DEAD, 2, "attempts_exhausted")
    assert job.finished_at is not None
    assert [attempt.number for attempt in job.history] == [1, 2]
    assert (line.count("failed"), line.count("retried"), line.count("dead")) == (2, 1, 1)


def test_without_limit_no_number_of_failures_is_the_last(line: LiveQueue) -> None:
    job_id = line.add()

    for _ in range(25):
        line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", max_attempts=0)
        line.exchange(0)

    job = line.job(job_id)
    assert (job.state, job.failures) == (JobState.READY, 25)
    assert [attempt.number for attempt in job.history] == list(range(6, 26))


def test_a_permanent_failure_is_dead_at_once_with_its_reason(line: LiveQueue) -> None:
    job_id = line.add()

    line.settle(line.claim_one(), Outcome.FAIL, error_kind="BadPayload", max_attempts=5, permanent="bad_payload")

    job = line.job(job_id)
    assert (job.state, job.failures, job.reason) == (JobState.DEAD, 1, "bad_payload")
    assert line.count("retried") == 0


def test_a_timeout_is_a_failure_told_apart_in_the_history(line: LiveQueue) -> None:
    job_id = line.add()

    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Timeout", timed_out=True, delay_ms=60_000)

    job = line.job(job_id)
    assert (job.failures, [attempt.outcome for attempt in job.history]) == (1, ["timeout"])


def test_a_failure_wakes_nobody(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one()
    line.take_wake_token()

    line.settle(claimed, Outcome.FAIL, error_kind="Broken", delay_ms=60_000)

    assert not line.take_wake_token()


def test_a_failure_repeated_is_charged_once(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.settle(claimed, Outcome.FAIL, error_kind="Broken", delay_ms=60_000)

    with line.unchanged():
        answer = line.settle(claimed, Outcome.FAIL, error_kind="Broken", delay_ms=60_000)

    assert answer is Answer.ALREADY_DONE
    assert line.job(job_id).failures == 1


def test_long_errors_are_cut_and_the_end_of_a_traceback_is_kept(line: LiveQueue) -> None:
    job_id = line.add()

    line.settle(
        line.claim_one(),
        Outcome.FAIL,
        error_kind="K" * 500,
        error_message="é" * 5000,
        traceback="first line\n" + "x" * 20_000 + "\nlast line",
        delay_ms=60_000,
    )

    record = line.snapshot().records[job_id]
    assert all(len(value.encode()) <= 64 for value in record.values())
    [attempt] = line.job(job_id).history
    assert attempt.error is not None
    assert len(attempt.error.message.encode()) <= limits.MAX_MESSAGE_BYTES
    assert attempt.error.message.startswith("ééé")
    assert len(attempt.traceback.encode()) <= limits.MAX_TRACEBACK_BYTES
    assert attempt.traceback.endswith("\nlast line")


def test_an_error_of_any_characters_can_be_stored(line: LiveQueue) -> None:
    job_id = line.add()

    line.settle(
        line.claim_one(), Outcome.FAIL, error_kind="Weird\x00", error_message="lone \ud800 \x00 😀", delay_ms=60_000
    )

    error = line.job(job_id).error
    assert error is not None
    assert error.message == "lone ? \x00 😀"


def test_an_asked_to_stop_job_that_fails_with_budget_left_is_cancelled(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.raw.hset(line.record_key(job_id), "cancel_requested", "1")

    line.settle(claimed, Outcome.FAIL, error_kind="Broken", max_attempts=3)

    assert line.state(job_id) is JobState.CANCELLED
    assert (line.count("failed"), line.count("retried"), line.count("cancelled")) == (1, 0, 1)


@pytest.mark.parametrize("details", [{"permanent": "told_so"}, {"max_attempts": 1}])
def test_an_asked_to_stop_job_that_fails_for_good_is_dead(line: LiveQueue, details: dict[str, object]) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.raw.hset(line.record_key(job_id), "cancel_requested", "1")

    line.settle(claimed, Outcome.FAIL, error_kind="Broken", **details)

    assert line.state(job_id) is JobState.DEAD
    assert line.count("cancelled") == 0


def test_a_worker_that_stopped_a_job_as_asked_settles_it_cancelled(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.raw.hset(line.record_key(job_id), "cancel_requested", "1")

    line.settle(claimed, Outcome.CANCELLED)

    job = line.job(job_id)
    assert (job.state, job.failures) == (JobState.CANCELLED, 0)
    assert job.finished_at is not None
    assert [attempt.outcome for attempt in job.history] == ["cancelled"]
    assert line.count("cancelled") == 1
