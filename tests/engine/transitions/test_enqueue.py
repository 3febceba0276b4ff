"""enqueue: (nothing) -> ready | scheduled."""

from datetime import UTC, datetime, timedelta

import pytest

from leaseforge import limits, operations, reads
from leaseforge.answers import Answer
from leaseforge.enqueueing import enqueue as enqueue_call
from leaseforge.errors import BadInput, TooManyQueues
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from tests.support.live_queue import LiveQueue

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def test_a_job_for_now_is_ready_and_wakes_a_worker(line: LiveQueue) -> None:
    before_ms = line.now_ms()

    job_id = line.add("send_email", {"to": "ada@example.com"})

    job = line.job(job_id)
    assert (job.state, job.type, job.payload) == (JobState.READY, "send_email", b'{"to":"ada@example.com"}')
    assert (job.attempts, job.failures, job.rev, job.history) == (0, 0, 1, ())
    assert job.created_at == job.ready_at
    assert job.created_at is not None
    assert before_ms <= job.created_at.timestamp() * 1000 <= line.now_ms()
    assert line.count("enqueued") == 1
    assert line.take_wake_token()


def test_unset_fields_are_not_stored(line: LiveQueue) -> None:
    job_id = line.add()

    fields = line.snapshot().records[job_id].keys() - {"content_type"}

    assert fields == {"type", "created_at", "rev", "state", "seq", "ready_at"}


def test_a_job_for_later_is_scheduled_and_wakes_nobody(line: LiveQueue) -> None:
    before_ms = line.now_ms()

    job_id = line.add(delay_ms=60_000)

    job = line.job(job_id)
    assert job.state is JobState.SCHEDULED
    assert job.due_at == job.scheduled_at
    assert job.due_at is not None
    assert before_ms + 60_000 <= job.due_at.timestamp() * 1000 <= line.now_ms() + 60_000
    assert line.count("enqueued") == 1
    assert not line.take_wake_token()
    assert line.claim(1) == ()


def test_an_instant_in_the_future_is_kept_to_the_millisecond_and_never_early(line: LiveQueue) -> None:
    at = datetime.now(UTC).replace(microsecond=123_000) + timedelta(hours=1)

    exact = line.add(at=at)
    between = line.add(at=at + timedelta(microseconds=1))

    due_ms = (at - EPOCH) // timedelta(milliseconds=1)
    assert line.snapshot().sets["scheduled"] == {exact: due_ms, between: due_ms + 1}


@pytest.mark.parametrize("at", [datetime(2001, 1, 1, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC)])
def test_an_instant_in_the_past_means_now(line: LiveQueue, at: datetime) -> None:
    job_id = line.add(at=at)

    assert line.state(job_id) is JobState.READY
    assert line.take_wake_token()


def test_the_same_id_again_stores_nothing(line: LiveQueue) -> None:
    job = new_job("work", b"first", queue=line.name)
    line.run(operations.enqueue(job))

    with line.unchanged():
        again = line.run(operations.enqueue(job))

    assert (again.answer, again.id) == (Answer.DUPLICATE, job.id)


def test_the_same_id_is_a_duplicate_in_every_state_it_may_be_in_by_then(line: LiveQueue) -> None:
    job = new_job("work", queue=line.name)
    line.run(operations.enqueue(job))
    line.kill(job.id)

    again = line.run(operations.enqueue(job))

    assert again.answer is Answer.DUPLICATE
    assert line.state(job.id) is JobState.DEAD


def test_one_bulk_answers_each_job_on_its_own(line: LiveQueue) -> None:
    known = new_job("work", queue=line.name)
    line.run(operations.enqueue(known))
    fresh, twice = new_job("work", queue=line.name), new_job("work", queue=line.name)
    keyed = new_job("work", queue=line.name, idempotency_key="k")
    other_body = new_job("play", queue=line.name, idempotency_key="k")

    stored = line.run(operations.enqueue_many([fresh, known, twice, twice, keyed, other_body]))

    assert [(one.id, one.answer) for one in stored] == [
        (fresh.id, Answer.CREATED),
        (known.id, Answer.DUPLICATE),
        (twice.id, Answer.CREATED),
        (twice.id, Answer.DUPLICATE),
        (keyed.id, Answer.CREATED),
        (keyed.id, Answer.REFUSED),
    ]
    assert line.ready() == [known.id, fresh.id, twice.id, keyed.id]
    assert line.count("enqueued") == 4


def test_a_whole_bulk_sent_again_changes_nothing(line: LiveQueue) -> None:
    jobs = [new_job("work", queue=line.name, delay_ms=1000 * (number % 2)) for number in range(10)]
    line.run(operations.enqueue_many(jobs))

    with line.unchanged():
        again = line.run(operations.enqueue_many(jobs))

    assert {one.answer for one in again} == {Answer.DUPLICATE}


def test_a_thousand_jobs_in_one_call_keep_their_order_and_leave_one_token(line: LiveQueue) -> None:
    jobs = [new_job("work", queue=line.name) for _ in range(limits.MAX_BULK)]

    stored = line.run(enqueue_call(line.name, jobs)).jobs

    assert {one.answer for one in stored} == {Answer.CREATED}
    assert line.ready() == [job.id for job in jobs]
    assert line.take_wake_token()
    assert not line.take_wake_token()


def test_a_bulk_over_queues_and_over_a_thousand_answers_in_the_order_given(line: LiveQueue) -> None:
    jobs = [new_job("work", queue=line.name if number % 50 else "other") for number in range(1100)]

    stored = line.run(operations.enqueue_many(jobs))

    assert [(one.id, one.queue) for one in stored] == [(job.id, job.queue) for job in jobs]
    assert line.run(reads.queue("other")).counts[JobState.READY] == 22


@pytest.mark.parametrize("count", [0, limits.MAX_BULK + 1])
def test_one_call_cannot_carry_more_than_a_script_may_touch(line: LiveQueue, count: int) -> None:
    with pytest.raises(ValueError, match="1 to 1000 jobs"):
        enqueue_call(line.name, [new_job("work", queue=line.name)] * count)


def test_an_empty_bulk_is_no_call(line: LiveQueue) -> None:
    assert line.run(operations.enqueue_many([])) == []


def test_one_bad_job_keeps_a_whole_bulk_out(line: LiveQueue) -> None:
    good = new_job("work", queue=line.name)
    bad = new_job("work", queue=line.name).__class__(id=good.id, type="", payload=b"", queue=line.name)

    with pytest.raises(BadInput, match="type"):
        line.run(operations.enqueue_many([good, bad]))

    assert line.run(reads.queue_names()) == []


def test_enqueueing_to_a_paused_queue_wakes_nobody(line: LiveQueue) -> None:
    line.add()
    line.take_wake_token()
    line.run(operations.pause(line.name))

    line.add()

    assert not line.take_wake_token()


def test_the_extreme_priorities_are_kept_exactly(line: LiveQueue) -> None:
    line.add(priority=limits.MIN_PRIORITY)
    line.add(priority=limits.MAX_PRIORITY)

    assert sorted(line.snapshot().sets["ready"].values()) == [-limits.MAX_PRIORITY, -limits.MIN_PRIORITY]


def test_there_is_a_bound_to_the_number_of_queues(line: LiveQueue) -> None:
    line.add()
    line.raw.zadd("lf:{sys}:queues", {f"q{number}": number for number in range(limits.MAX_QUEUES - 1)})

    with pytest.raises(TooManyQueues, match="1,000 queues"):
        line.run(operations.enqueue(new_job("work", queue="one-more")))
    line.add()

    assert line.raw.exists("lf:{one-more}:meta") == 0
