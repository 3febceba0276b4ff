"""Follow-ups: jobs that exist only if the job that asked for them completes."""

from dataclasses import replace

import pytest

from leaseforge import operations, outbox, reads
from leaseforge.answers import Answer
from leaseforge.claimed import Claimed
from leaseforge.errors import StoreFull
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState, NewJob
from leaseforge.limits import MAX_FOLLOW_UPS
from leaseforge.requests import new_job
from tests.support.live_queue import LiveQueue


def child(queue: str, **fields: object) -> NewJob:
    return new_job("next", {"of": queue}, queue=queue, **fields)  # type: ignore[arg-type]  # checked by new_job


def parent(line: LiveQueue) -> Claimed:
    line.add("parent", priority=9)
    return line.claim_one()


def test_follow_ups_of_the_same_queue_are_ready_with_the_completion(line: LiveQueue) -> None:
    job, now, later = parent(line), child("line", priority=3), child("line", delay_ms=60_000)

    line.settle(job, Outcome.COMPLETE, follow_ups=(now, later))

    assert line.take_wake_token()
    claimed = line.claim_one()
    assert (claimed.id, claimed.payload, claimed.priority) == (now.id, now.payload, 3)
    assert line.state(later.id) is JobState.SCHEDULED
    assert line.count("enqueued") == 3


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.RELEASE, Outcome.CANCELLED])
def test_another_end_drops_them(line: LiveQueue, outcome: Outcome) -> None:
    job = parent(line)

    line.settle(job, outcome, follow_ups=(child("line"), child("mail")), delay_ms=60_000)

    assert line.count("enqueued") == 1
    assert not line.raw.exists(line.key("outbox"))


def test_a_stale_completion_drops_them(line: LiveQueue) -> None:
    job = parent(line)
    line.expire(job.id)
    line.tick()

    with line.unchanged(fenced=1):
        line.settle(job, Outcome.COMPLETE, follow_ups=(child("line"), child("mail")))


def test_those_of_another_queue_wait_in_the_outbox_until_they_are_forwarded(line: LiveQueue) -> None:
    job, mail = parent(line), child("mail", delay_ms=60_000, priority=-4, tags=("a",))
    line.settle(job, Outcome.COMPLETE, follow_ups=(mail, child("print")))
    assert line.raw.hlen(line.key("outbox")) == 2

    forwarded = line.run(outbox.forward(line.name))

    assert (forwarded.moved, forwarded.refused, forwarded.left) == (2, 0, 0)
    assert not line.raw.exists(line.key("outbox"))
    stored = line.job(mail.id)
    assert (stored.queue, stored.state, stored.priority, stored.tags) == ("mail", JobState.SCHEDULED, -4, ("a",))
    assert set(line.run(reads.queue_names())) == {"line", "mail", "print"}
    assert line.count("forwarded") == 2


def test_a_round_repeated_forwards_nothing_twice(line: LiveQueue) -> None:
    mail = child("mail")
    line.settle(parent(line), Outcome.COMPLETE, follow_ups=(mail,))
    first = line.run(outbox.forward(line.name))

    again = line.run(outbox.forward(line.name))

    assert (first.moved, again.moved, again.left) == (1, 0, 0)


def test_a_queue_that_takes_no_jobs_now_does_not_hold_up_another(line: LiveQueue) -> None:
    """The plan is told by hand that one queue is full, and goes on with the other."""
    line.settle(parent(line), Outcome.COMPLETE, follow_ups=(child("full"), child("mail")))
    plan = outbox.forward(line.name)
    step = next(plan)
    try:
        while True:
            is_full = getattr(step, "script", None) and step.script.name == "enqueue" and "{full}" in step.keys[0][1]  # type: ignore[union-attr]  # a call
            step = plan.throw(StoreFull("no memory left")) if is_full else plan.send(line.run(step))  # type: ignore[arg-type]  # a call
    except StopIteration as end:
        forwarded = end.value

    assert (forwarded.moved, forwarded.refused, forwarded.left) == (1, 0, 1)
    assert line.run(outbox.forward(line.name)).moved == 1


def test_a_queue_that_can_never_be_is_refused_and_noted_with_the_parent(line: LiveQueue) -> None:
    job = parent(line)
    line.settle(job, Outcome.COMPLETE, follow_ups=(replace(child("mail"), queue="no such name"),))

    forwarded = line.run(outbox.forward(line.name))

    assert (forwarded.moved, forwarded.refused, forwarded.left) == (0, 1, 0)
    assert line.count("follow_ups_refused") == 1
    [note] = line.run(reads.log(line.name, job.id))
    assert "refused" in note.text


def test_an_exchange_carries_a_bounded_number(line: LiveQueue) -> None:
    job = parent(line)
    many = tuple(child("line") for _ in range(MAX_FOLLOW_UPS + 1))

    with pytest.raises(ValueError, match="follow-ups"):
        line.exchange(0, [Settlement(job.id, job.token, Outcome.COMPLETE, follow_ups=many)])
    assert line.settle(job, Outcome.COMPLETE, follow_ups=many[:-1]) is Answer.OK
    assert line.count("enqueued") == 1 + MAX_FOLLOW_UPS


def test_a_follow_up_that_is_there_already_is_stored_once(line: LiveQueue) -> None:
    job, known = parent(line), child("line")
    line.run(operations.enqueue(known))

    line.settle(job, Outcome.COMPLETE, follow_ups=(known,))

    assert line.count("enqueued") == 2
