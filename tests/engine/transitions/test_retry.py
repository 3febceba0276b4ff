"""retry: dead -> ready, by an operator."""

import uuid
from typing import Any

import pytest

from leaseforge import limits, operations
from leaseforge.answers import Answer
from leaseforge.errors import BadInput, InvalidTransition, JobNotFound, PayloadTooLarge
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue


def dead(line: LiveQueue, **fields: Any) -> str:
    job_id = line.add(**fields)
    line.kill(job_id)
    return job_id


def test_a_replayed_job_starts_with_new_budgets_and_its_old_history(line: LiveQueue) -> None:
    job_id = dead(line, payload=b"in")
    line.take_wake_token()
    before_ms = line.now_ms()

    assert line.run(operations.retry(job_id, operation="op-1")) is Answer.OK

    job = line.job(job_id)
    assert (job.state, job.payload) == (JobState.READY, b"in")
    assert (job.failures, job.recoveries, job.replays) == (0, 0, 1)
    assert (job.attempts, job.attempts_base) == (1, 1)
    assert (job.error, job.reason, job.finished_at) == (None, None, None)
    assert job.ready_at is not None
    assert job.ready_at.timestamp() * 1000 >= before_ms
    assert len(job.history) == 1
    assert line.count("replayed") == 1
    assert line.take_wake_token()
    claimed = line.claim_one()
    assert (claimed.attempt, claimed.failures, claimed.replays) == (2, 0, 1)


def test_a_poisoned_job_may_lose_leases_again_after_a_replay(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    line.expire(job_id)
    line.tick(max_recoveries=0)
    line.run(operations.retry(job_id, operation="op-1"))
    line.claim_one()
    line.expire(job_id)

    line.tick(max_recoveries=1)

    assert line.state(job_id) is JobState.READY
    assert line.job(job_id).recoveries == 1


def test_a_replayed_job_stands_at_the_end_of_its_priority(line: LiveQueue) -> None:
    job_id = dead(line, priority=3)
    waiting = line.add(priority=3)

    line.run(operations.retry(job_id, operation="op-1"))

    assert line.ready() == [waiting, job_id]


def test_the_same_operation_again_is_already_done(line: LiveQueue) -> None:
    job_id = dead(line)
    line.run(operations.retry(job_id, operation="op-1"))

    with line.unchanged():
        assert line.run(operations.retry(job_id, operation="op-1")) is Answer.ALREADY_DONE
    line.kill(job_id)
    with line.unchanged():
        assert line.run(operations.retry(job_id, operation="op-1", payload=b"new")) is Answer.ALREADY_DONE

    assert line.run(operations.retry(job_id, operation="op-2")) is Answer.OK
    assert line.job(job_id).replays == 2
    assert line.job(job_id).attempts_base == 2


@pytest.mark.parametrize("size", [0, 3, 20_000, limits.MAX_PAYLOAD_BYTES])
def test_a_replay_may_bring_another_payload(line: LiveQueue, size: int) -> None:
    job_id = dead(line, payload=b"x" * 17_000)

    line.run(operations.retry(job_id, operation="op-1", payload=b"y" * size))

    assert line.job(job_id).payload == b"y" * size
    assert line.claim_one().payload == b"y" * size
    assert line.field(job_id, "size") == (str(size) if size > 16_384 else None)


def test_a_payload_over_the_limit_is_refused(line: LiveQueue) -> None:
    job_id = dead(line)

    with line.unchanged(), pytest.raises(PayloadTooLarge):
        line.run(operations.retry(job_id, operation="op-1", payload=bytes(limits.MAX_PAYLOAD_BYTES + 1)))


@pytest.mark.parametrize("operation", ["", "x" * 65, "a\nb"])
def test_an_operation_id_fits_into_a_record(line: LiveQueue, operation: str) -> None:
    job_id = dead(line)

    with line.unchanged(), pytest.raises(BadInput, match="operation"):
        line.run(operations.retry(job_id, operation=operation))


def test_only_a_dead_job_can_be_retried(line: LiveQueue) -> None:
    completed, running, ready = line.add_many(3)
    line.settle(line.claim_one(), Outcome.COMPLETE)
    line.claim_one()
    scheduled = line.add(delay_ms=60_000)

    for job_id, state in ((completed, "completed"), (running, "running"), (ready, "ready"), (scheduled, "scheduled")):
        with line.unchanged(), pytest.raises(InvalidTransition, match=state) as refused:
            line.run(operations.retry(job_id, operation="op-1"))
        assert (refused.value.state, refused.value.action, refused.value.job_id) == (state, "retry", job_id)


def test_an_unknown_job_cannot_be_retried(line: LiveQueue) -> None:
    line.add()

    with line.unchanged(), pytest.raises(JobNotFound):
        line.run(operations.retry(str(uuid.uuid4()), operation="op-1"))


def test_a_job_without_its_payload_can_only_be_retried_with_another_one(line: LiveQueue) -> None:
    job_id = dead(line)
    line.raw.delete(line.record_key(job_id, ":in"))

    with line.unchanged(), pytest.raises(InvalidTransition):
        line.run(operations.retry(job_id, operation="op-1"))
    assert line.run(operations.retry(job_id, operation="op-1", payload=b"again")) is Answer.OK


def test_a_replay_into_a_paused_queue_wakes_nobody(line: LiveQueue) -> None:
    job_id = dead(line)
    line.take_wake_token()
    line.run(operations.pause(line.name))

    line.run(operations.retry(job_id, operation="op-1"))

    assert not line.take_wake_token()


def test_the_old_claims_token_is_worth_nothing_after_a_replay(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.settle(claimed, Outcome.FAIL, error_kind="Broken", permanent="told_so")
    line.run(operations.retry(job_id, operation="op-1"))

    with line.unchanged():
        assert line.settle(claimed, Outcome.COMPLETE) is Answer.ALREADY_DONE
        assert line.renew(claimed) == (Answer.ALREADY_DONE,)
