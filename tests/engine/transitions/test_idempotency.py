"""enqueue with an idempotency key: the first id for 24 h, whatever becomes of the job."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.answers import Answer
from leaseforge.errors import IdempotencyConflict
from leaseforge.requests import new_job
from tests.support.live_queue import LiveQueue

FIELDS: dict[str, Any] = {"type": "pay", "payload": b"1", "queue": "line", "idempotency_key": "order-7"}


def test_the_same_key_and_body_answer_the_first_id(line: LiveQueue) -> None:
    first = line.run(operations.enqueue(new_job(**FIELDS)))

    with line.unchanged():
        again = line.run(operations.enqueue(new_job(**FIELDS)))

    assert (first.answer, again.answer) == (Answer.CREATED, Answer.DUPLICATE)
    assert again.id == first.id


def test_an_instant_is_the_same_body_when_repeated(line: LiveQueue) -> None:
    at = datetime.now(UTC) + timedelta(days=1)

    first, again = (line.run(operations.enqueue(new_job(**FIELDS, at=at))) for _ in range(2))

    assert again.id == first.id


@pytest.mark.parametrize(
    "other",
    [
        {"type": "refund"},
        {"payload": b"2"},
        {"priority": 1},
        {"delay_ms": 1},
        {"tags": ("x",)},
        {"max_attempts": 9},
        {"content_type": "text/plain"},
        {"at": datetime(2001, 1, 1, tzinfo=UTC)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_the_same_key_with_another_body_is_refused(line: LiveQueue, other: dict[str, Any]) -> None:
    first = line.run(operations.enqueue(new_job(**FIELDS)))

    with line.unchanged(), pytest.raises(IdempotencyConflict, match="order-7") as conflict:
        line.run(operations.enqueue(new_job(**FIELDS | other)))

    assert conflict.value.job_id == first.id


@pytest.mark.parametrize("scope", [{"queue": "elsewhere"}, {"created_by": "another service"}])
def test_keys_of_other_queues_and_other_callers_are_other_keys(line: LiveQueue, scope: dict[str, Any]) -> None:
    first = line.run(operations.enqueue(new_job(**FIELDS)))

    other = line.run(operations.enqueue(new_job(**FIELDS | scope)))

    assert other.answer is Answer.CREATED
    assert other.id != first.id


def test_a_key_used_twice_in_one_call_stores_one_job(line: LiveQueue) -> None:
    jobs = [new_job(**FIELDS), new_job(**FIELDS), new_job(**FIELDS | {"payload": b"2"})]

    stored = line.run(operations.enqueue_many(jobs))

    assert [one.answer for one in stored] == [Answer.CREATED, Answer.DUPLICATE, Answer.REFUSED]
    assert {one.id for one in stored} == {jobs[0].id}


def test_a_key_outlives_its_job(line: LiveQueue) -> None:
    first = line.run(operations.enqueue(new_job(**FIELDS)))
    line.run(operations.delete(first.id))

    again = line.run(operations.enqueue(new_job(**FIELDS)))

    assert (again.answer, again.id) == (Answer.DUPLICATE, first.id)
    assert line.ready() == []


def test_a_key_lasts_a_day(line: LiveQueue) -> None:
    line.run(operations.enqueue(new_job(**FIELDS)))

    [key] = line.raw.keys("lf:{line}:idem:*")

    assert 86_340_000 < line.raw.pttl(key) <= 86_400_000


def test_the_key_itself_is_not_stored_in_clear(line: LiveQueue) -> None:
    line.run(operations.enqueue(new_job(**FIELDS)))

    assert not any(b"order-7" in key for key in line.raw.keys("*"))
