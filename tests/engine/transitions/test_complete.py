"""settle: running -> completed, and what holds for every settlement."""

import pytest

from leaseforge import exchanges
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState
from tests.support.live_queue import LEASE_MS, LiveQueue


def test_a_completed_job_keeps_its_result(line: LiveQueue) -> None:
    job_id = line.add(payload=b"in")
    claimed = line.claim_one()
    before_ms = line.now_ms()

    answer = line.exchange(0, [Settlement(job_id, claimed.token, Outcome.COMPLETE, result=b"\x00out\xff")])

    assert (answer.settled, answer.states) == ((Answer.OK,), (JobState.COMPLETED,))
    job = line.job(job_id)
    assert (job.state, job.payload, job.result) == (JobState.COMPLETED, b"in", b"\x00out\xff")
    assert (job.attempts, job.failures, job.history, job.rev) == (1, 0, (), 3)
    assert job.finished_at is not None
    assert before_ms <= job.finished_at.timestamp() * 1000 <= line.now_ms()
    assert line.count("completed") == 1
    assert not line.snapshot().sets["running"]


def test_no_result_is_none(line: LiveQueue) -> None:
    job_id = line.add()

    line.settle(line.claim_one(), Outcome.COMPLETE)

    assert line.job(job_id).result is None


def test_settling_again_changes_nothing(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one()
    line.settle(claimed, Outcome.COMPLETE, result=b"first")

    with line.unchanged():
        answers = [line.settle(claimed, outcome, result=b"second") for outcome in Outcome]

    assert answers == [Answer.ALREADY_DONE] * len(Outcome)


def test_a_settlement_twice_in_one_call_counts_once(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    settlement = Settlement(job_id, claimed.token, Outcome.COMPLETE)
    forged = Settlement(job_id, "1.thief", Outcome.COMPLETE)

    answer = line.exchange(0, [settlement, settlement, forged])

    assert answer.settled == (Answer.OK, Answer.ALREADY_DONE, Answer.FENCED)
    assert answer.states == (JobState.COMPLETED, None, None)
    assert line.count("completed") == 1


def test_each_of_many_settlements_has_its_own_answer(line: LiveQueue) -> None:
    ids = line.add_many(5)
    claimed = line.claim(5)
    outcomes = [Outcome.COMPLETE, Outcome.FAIL, Outcome.RELEASE, Outcome.CANCELLED, Outcome.COMPLETE]
    settlements = [
        Settlement(job.id, job.token if job.id != ids[4] else "1.thief", outcome, error_kind="Broken")
        for job, outcome in zip(claimed, outcomes, strict=True)
    ]

    answer = line.exchange(0, settlements)

    assert answer.settled == (Answer.OK, Answer.OK, Answer.OK, Answer.OK, Answer.FENCED)
    assert answer.states == (
        JobState.COMPLETED,
        JobState.RETRYING,
        JobState.READY,
        JobState.CANCELLED,
        None,
    )
    # What had to wait 0 ms for its next attempt was promoted by the same exchange.
    assert line.snapshot().job_ids("ready") == [ids[2], ids[1]]
    assert line.state(ids[4]) is JobState.RUNNING


def test_a_late_settlement_counts_as_long_as_recovery_has_not_taken_the_job(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.expire(job_id)

    answer = line.settle(claimed, Outcome.COMPLETE)

    assert answer is Answer.OK
    assert line.state(job_id) is JobState.COMPLETED


def test_the_token_that_settled_is_known_until_the_next_settlement(line: LiveQueue) -> None:
    job_id = line.add()
    first = line.claim_one()
    line.settle(first, Outcome.RELEASE)
    second = line.claim_one()

    with line.unchanged():
        assert line.settle(first, Outcome.COMPLETE) is Answer.ALREADY_DONE
        assert line.renew(first)[0] is Answer.ALREADY_DONE
    line.settle(second, Outcome.COMPLETE)

    assert line.settle(first, Outcome.COMPLETE) is Answer.FENCED
    assert line.state(job_id) is JobState.COMPLETED


def test_two_hundred_are_settled_in_one_call_and_no_more(line: LiveQueue) -> None:
    line.add_many(200)
    settlements = [Settlement(job.id, job.token, Outcome.COMPLETE, result=b"ok") for job in line.claim(200)]

    answer = line.exchange(0, settlements)

    assert set(answer.settled) == {Answer.OK}
    assert line.count("completed") == 200
    with pytest.raises(ValueError, match="at most 200"):
        exchanges.exchange("line", run_id="w1", number=1, lease_ms=LEASE_MS, want=0, settlements=settlements * 2)


def test_an_asked_to_stop_job_that_completes_first_is_completed(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.raw.hset(line.record_key(job_id), "cancel_requested", "1")

    line.settle(claimed, Outcome.COMPLETE)

    assert line.state(job_id) is JobState.COMPLETED
    assert line.count("cancelled") == 0
