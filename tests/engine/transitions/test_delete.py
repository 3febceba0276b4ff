"""delete: any state but running -> gone."""

import uuid
from collections.abc import Callable

import pytest

from leaseforge import operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import InvalidTransition, JobNotFound
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue, replies_lost


def completed(line: LiveQueue) -> str:
    job_id = line.add()
    line.settle(line.claim_one(), Outcome.COMPLETE, result=b"out")
    return job_id


def cancelled(line: LiveQueue) -> str:
    job_id = line.add()
    line.settle(line.claim_one(), Outcome.CANCELLED)
    return job_id


def retrying(line: LiveQueue) -> str:
    job_id = line.add()
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", delay_ms=60_000)
    return job_id


def dead(line: LiveQueue) -> str:
    job_id = line.add()
    line.kill(job_id)
    return job_id


@pytest.mark.parametrize(
    "make",
    [LiveQueue.add, lambda line: line.add(delay_ms=60_000), retrying, completed, cancelled, dead],
    ids=["ready", "scheduled", "retrying", "completed", "cancelled", "dead"],
)
def test_a_job_that_is_not_running_goes_without_a_trace(line: LiveQueue, make: Callable[[LiveQueue], str]) -> None:
    job_id = make(line)

    assert line.run(operations.delete(job_id)) is Answer.OK

    assert line.raw.keys(line.record_key(job_id, "*")) == []
    assert line.snapshot().places(job_id) == []
    assert line.count("deleted") == 1
    with pytest.raises(JobNotFound):
        line.job(job_id)


def test_a_running_job_is_not_deleted(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()

    with line.unchanged(), pytest.raises(InvalidTransition, match="running"):
        line.run(operations.delete(job_id))


def test_what_was_deleted_is_gone_for_its_old_worker_too(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.settle(claimed, Outcome.RELEASE)
    line.run(operations.delete(job_id))

    with line.unchanged(fenced=2):
        assert line.settle(claimed, Outcome.COMPLETE) is Answer.FENCED
        assert line.renew(claimed) == (Answer.FENCED,)


def test_an_unknown_job_cannot_be_deleted(line: LiveQueue) -> None:
    line.add()

    with line.unchanged(), pytest.raises(JobNotFound):
        line.run(operations.delete(str(uuid.uuid4())))


def test_deleting_twice_tells_that_it_is_gone(line: LiveQueue) -> None:
    job_id = line.add()
    line.run(operations.delete(job_id))

    with line.unchanged(), pytest.raises(JobNotFound):
        line.run(operations.delete(job_id))


def test_a_delete_whose_reply_was_lost_is_already_done(line: LiveQueue) -> None:
    job_id = line.add()

    assert line.run(replies_lost(operations.delete(job_id))) is Answer.ALREADY_DONE

    assert line.count("deleted") == 1


def test_a_job_is_found_in_whichever_queue_holds_it(line: LiveQueue) -> None:
    with LiveQueue(line.url, "other") as other:
        job_id = other.add()
        line.add()

        line.run(operations.delete(job_id))

        assert other.ready() == []
        assert line.run(reads.queue("line")).totals.get("deleted", 0) == 0


def test_only_a_job_in_the_state_asked_for_is_deleted(line: LiveQueue) -> None:
    job_id = line.add()

    with line.unchanged(), pytest.raises(InvalidTransition, match="ready"):
        line.run(operations.delete(job_id, only=[JobState.DEAD]))
    line.run(operations.delete(job_id, only=[JobState.DEAD, JobState.READY]))

    assert not line.raw.exists(line.record_key(job_id))
