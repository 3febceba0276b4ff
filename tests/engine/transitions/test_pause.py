"""pause and resume: whether jobs of a queue can be claimed."""

import pytest

from leaseforge import operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import BadInput, QueueNotFound
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue


def test_no_claim_succeeds_after_a_pause_has_returned(line: LiveQueue) -> None:
    job_id = line.add()
    assert line.run(operations.pause(line.name)) is Answer.OK

    assert line.exchange(1).status is Answer.PAUSED

    line.add()
    assert line.claim(200) == ()
    assert line.state(job_id) is JobState.READY
    assert line.run(reads.queue(line.name)).paused


def test_jobs_enqueued_while_paused_are_claimed_after_the_resume(line: LiveQueue) -> None:
    first = line.add()
    line.run(operations.pause(line.name))
    second = line.add()

    assert line.run(operations.resume(line.name)) is Answer.OK

    assert [job.id for job in line.claim(5)] == [first, second]
    assert not line.run(reads.queue(line.name)).paused


def test_what_runs_goes_on_in_a_paused_queue(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.run(operations.pause(line.name))

    assert line.renew(claimed) == (Answer.OK,)
    assert line.settle(claimed, Outcome.COMPLETE) is Answer.OK

    assert line.state(job_id) is JobState.COMPLETED


def test_a_resume_wakes_a_worker_if_there_is_work(line: LiveQueue) -> None:
    line.add()
    line.run(operations.pause(line.name))
    line.take_wake_token()

    line.run(operations.resume(line.name))

    assert line.take_wake_token()


def test_a_resume_without_work_wakes_nobody(line: LiveQueue) -> None:
    line.add()
    line.claim_one()
    line.take_wake_token()
    line.run(operations.pause(line.name))

    line.run(operations.resume(line.name))

    assert not line.take_wake_token()


def test_a_worker_woken_into_a_paused_queue_does_not_pass_the_token_on(line: LiveQueue) -> None:
    line.add()
    line.run(operations.pause(line.name))
    line.take_wake_token()

    line.exchange(0)
    line.tick()

    assert not line.take_wake_token()


def test_pausing_and_resuming_twice_is_already_done(line: LiveQueue) -> None:
    line.add()

    assert line.run(operations.resume(line.name)) is Answer.ALREADY_DONE
    line.run(operations.pause(line.name))
    with line.unchanged():
        assert line.run(operations.pause(line.name)) is Answer.ALREADY_DONE


def test_an_unknown_queue_can_be_neither_paused_nor_resumed(line: LiveQueue) -> None:
    for action in (operations.pause, operations.resume):
        with pytest.raises(QueueNotFound, match="nowhere"):
            line.run(action("nowhere"))

    assert line.raw.keys("*") == []


@pytest.mark.parametrize("name", ["", "a b", "a{b}", "sys", "x" * 65, "a\n"])
def test_a_bad_name_is_refused(line: LiveQueue, name: str) -> None:
    for action in (operations.pause, operations.resume):
        with pytest.raises(BadInput, match="queue"):
            line.run(action(name))
