"""settle: running -> ready, given back by a worker that drains."""

from leaseforge import operations
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue


def test_a_released_job_is_charged_nothing(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    before_ms = line.now_ms()

    line.settle(claimed, Outcome.RELEASE)

    job = line.job(job_id)
    assert (job.state, job.failures, job.recoveries, job.releases, job.attempts) == (JobState.READY, 0, 0, 1, 1)
    assert job.error is None
    assert job.ready_at is not None
    assert job.ready_at.timestamp() * 1000 >= before_ms
    assert [attempt.outcome for attempt in job.history] == ["released"]
    assert line.count("released") == 1
    assert line.claim_one().attempt == 2


def test_a_released_job_goes_back_to_the_front_of_its_priority(line: LiveQueue) -> None:
    first, second = line.add(), line.add()
    claimed = line.claim_one()
    high = line.add(priority=1)

    line.settle(claimed, Outcome.RELEASE)

    assert line.ready() == [high, first, second]


def test_a_release_wakes_another_worker(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one()
    line.take_wake_token()

    line.settle(claimed, Outcome.RELEASE)

    assert line.take_wake_token()


def test_a_release_into_a_paused_queue_wakes_nobody(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one()
    line.take_wake_token()
    line.run(operations.pause(line.name))

    line.settle(claimed, Outcome.RELEASE)

    assert not line.take_wake_token()


def test_a_release_repeated_changes_nothing(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one()
    line.settle(claimed, Outcome.RELEASE)

    with line.unchanged():
        assert line.settle(claimed, Outcome.RELEASE) is Answer.ALREADY_DONE


def test_an_asked_to_stop_job_that_is_released_is_cancelled(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.raw.hset(line.record_key(job_id), "cancel_requested", "1")

    line.settle(claimed, Outcome.RELEASE)

    assert line.state(job_id) is JobState.CANCELLED
    assert (line.count("released"), line.count("cancelled")) == (0, 1)
