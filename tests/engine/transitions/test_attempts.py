"""What a running attempt says of itself: progress and log lines, only under its token; and the history it leaves."""

import pytest

from leaseforge import attempts, operations, reads
from leaseforge.answers import Answer
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Outcome
from leaseforge.jobs import Progress
from leaseforge.limits import MAX_LOG_LINES
from tests.support.live_queue import LiveQueue


def log(line: LiveQueue, job: Claimed, first: int, *lines: str) -> Answer:
    return line.run(attempts.log(line.name, job.id, job.token, first=first, lines=lines))


def logged(line: LiveQueue, job_id: str) -> list[tuple[int, str]]:
    return [(entry.number, entry.text) for entry in line.run(reads.log(line.name, job_id))]


def stale(line: LiveQueue) -> Claimed:
    """A claim whose job another worker has now."""
    line.add()
    claimed = line.claim_one()
    line.expire(claimed.id)
    line.tick()
    line.claim_one(run_id="w2")
    return claimed


def test_progress_is_kept_with_its_note(line: LiveQueue) -> None:
    line.add()
    job = line.claim_one()

    answer = line.run(attempts.progress(line.name, job.id, job.token, percent=40, note="half an hour left"))

    assert answer is Answer.OK
    assert line.job(job.id).progress == Progress(40, "half an hour left")


def test_a_stale_token_reports_no_progress_and_logs_nothing(line: LiveQueue) -> None:
    job = stale(line)

    with line.unchanged(fenced=2):
        progressed = line.run(attempts.progress(line.name, job.id, job.token, percent=40))
        answer = log(line, job, 1, "from the grave")

    assert (progressed, answer) == (Answer.FENCED, Answer.FENCED)


def test_an_ended_attempt_reports_no_progress_and_logs_nothing(line: LiveQueue) -> None:
    line.add()
    job = line.claim_one()
    line.settle(job, Outcome.COMPLETE)

    with line.unchanged(fenced=2):
        assert line.run(attempts.progress(line.name, job.id, job.token, percent=40)) is Answer.FENCED
        assert log(line, job, 1, "afterwards") is Answer.FENCED


def test_a_handler_that_is_to_stop_hears_it_from_its_progress_and_log(line: LiveQueue) -> None:
    line.add()
    job = line.claim_one()
    line.run(operations.cancel(job.id, operation="op"))

    assert line.run(attempts.progress(line.name, job.id, job.token, percent=1)) is Answer.CANCELLED
    assert log(line, job, 1, "one") is Answer.CANCELLED
    assert logged(line, job.id) == [(1, "one")]


def test_lines_sent_again_are_stored_once(line: LiveQueue) -> None:
    line.add()
    job = line.claim_one()

    log(line, job, 1, "one", "two")
    log(line, job, 1, "one", "two")
    log(line, job, 2, "two", "three ✓")

    assert logged(line, job.id) == [(1, "one"), (2, "two"), (3, "three ✓")]


def test_the_next_attempt_numbers_its_lines_anew(line: LiveQueue) -> None:
    line.add()
    first = line.claim_one()
    log(line, first, 1, "first attempt")
    line.settle(first, Outcome.RELEASE)
    second = line.claim_one()

    log(line, second, 1, "second attempt")

    assert logged(line, second.id) == [(1, "first attempt"), (1, "second attempt")]


def test_the_last_lines_of_a_job_are_kept(line: LiveQueue) -> None:
    line.add()
    job = line.claim_one()
    log(line, job, 1, *(str(number) for number in range(1, MAX_LOG_LINES + 1)))

    log(line, job, MAX_LOG_LINES + 1, "last")

    kept = logged(line, job.id)
    assert len(kept) == MAX_LOG_LINES
    assert (kept[0], kept[-1]) == ((2, "2"), (MAX_LOG_LINES + 1, "last"))


@pytest.mark.parametrize("percent", [-1, 101])
def test_progress_is_a_percentage(line: LiveQueue, percent: int) -> None:
    with pytest.raises(ValueError, match="0 to 100"):
        attempts.progress(line.name, "id", "1.w", percent=percent)


def test_the_last_twenty_attempts_are_remembered(line: LiveQueue) -> None:
    job_id = line.add()
    for _ in range(23):
        line.settle(line.claim_one(), Outcome.RELEASE)

    history = line.job(job_id).history

    assert [attempt.number for attempt in history] == list(range(4, 24))
    assert line.raw.llen(line.record_key(job_id, ":history")) == 20
