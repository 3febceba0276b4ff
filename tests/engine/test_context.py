"""What a handler may ask of its context, and what is refused at once."""

import inspect
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leaseforge import limits
from leaseforge.context import Context
from leaseforge.errors import AttemptEnded, BadInput, PayloadTooLarge, TooManyFollowUps
from leaseforge.jobs import Options
from leaseforge.policies import Policy
from leaseforge.requests import new_job
from leaseforge_worker import outcomes
from leaseforge_worker.held import Held
from tests.worker.builders import Clock, claimed, held

TRACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


def attempt(**facts: Any) -> tuple[Context, Held]:
    job = held(Clock(), claimed(**facts))
    return Context(job.claimed, job), job


def test_a_follow_up_inherits_queue_and_trace_unless_it_says_otherwise() -> None:
    ctx, job = attempt(queue="mail", traceparent=TRACE)
    other = TRACE.replace("b", "c")

    first = ctx.enqueue("next", {"n": 1})
    second = ctx.enqueue("next", queue="print", traceparent=other, priority=3)

    assert job.follow_ups is not None
    own, away = job.follow_ups.take()
    assert (own.id, own.queue, own.traceparent, own.payload) == (first, "mail", TRACE, b'{"n":1}')
    assert (away.id, away.queue, away.traceparent, away.priority) == (second, "print", other, 3)


def test_a_follow_up_takes_every_field_of_a_job_and_passes_it_on() -> None:
    fields, asked = (inspect.signature(one).parameters for one in (new_job, Context.enqueue))
    given: dict[str, Any] = {
        "queue": "print",
        "priority": -7,
        "delay_ms": 5,
        "id": "00000000-0000-4000-8000-000000000001",
        "idempotency_key": "key",
        "max_attempts": 9,
        "timeout_ms": 8,
        "backoff": "fixed",
        "backoff_base_ms": 7,
        "backoff_cap_ms": 6,
        "tags": ["a"],
        "content_type": "text/plain",
        "traceparent": TRACE,
        "created_by": "me",
        "unique_key": "one",
        "unique_ttl_ms": 5000,
        "tracestate": "vendor=1",
    }
    later = {"at": datetime.now(UTC) + timedelta(days=1), "delay_ms": 0}

    assert list(asked)[1:] == list(fields)
    assert set(fields) - {"type", "payload"} == given.keys() | later.keys()
    assert {name: one.default for name, one in asked.items() if name in fields and name != "queue"} == {
        name: one.default for name, one in fields.items() if name != "queue"
    }
    for values in (given, given | later):
        ctx, job = attempt()
        ctx.enqueue("next", b"body", **values)
        assert job.follow_ups is not None
        assert job.follow_ups.take() == (new_job("next", b"body", **values),)


def test_the_view_of_a_job_holds_what_its_claim_told() -> None:
    options = Options(max_attempts=4)
    ctx, _ = attempt(queue="mail", priority=3, tags=("a",), attempt=5, failures=2, options=options, traceparent=TRACE)

    job = ctx.job

    assert (job.id, job.queue, job.type, job.priority, job.tags) == (ctx.job_id, "mail", "echo", 3, ("a",))
    assert (job.attempt, job.failures, job.options, job.traceparent) == (5, 2, options, TRACE)
    assert (job.ready_at - job.created_at).total_seconds() == 0.5


def test_a_bad_request_is_refused_in_the_handler_and_keeps_the_others() -> None:
    ctx, job = attempt()
    kept = ctx.enqueue("next")

    with pytest.raises(BadInput, match="queue"):
        ctx.enqueue("next", queue="no such queue")
    with pytest.raises(PayloadTooLarge):
        ctx.enqueue("next", b"x" * (limits.MAX_PAYLOAD_BYTES + 1))

    assert job.follow_ups is not None
    assert [one.id for one in job.follow_ups.take()] == [kept]


def test_an_attempt_asks_for_at_most_200_follow_ups() -> None:
    ctx, job = attempt()
    for _ in range(limits.MAX_FOLLOW_UPS):
        ctx.enqueue("next")

    with pytest.raises(TooManyFollowUps, match="200"):
        ctx.enqueue("next")

    assert job.follow_ups is not None
    assert len(job.follow_ups.take()) == limits.MAX_FOLLOW_UPS


def test_the_payloads_of_follow_ups_are_at_most_4_mib_together() -> None:
    ctx, _ = attempt()
    for _ in range(4):
        ctx.enqueue("next", b"x" * limits.MAX_PAYLOAD_BYTES)

    with pytest.raises(TooManyFollowUps, match="4,194,304"):
        ctx.enqueue("next", b"x")


def test_only_a_completion_takes_follow_ups_along() -> None:
    ctx, job = attempt()
    ctx.enqueue("next")

    assert outcomes.failed(job, Policy(), outcomes.failure_of(RuntimeError("no"))).follow_ups == ()
    assert outcomes.completed(job, object(), Policy()).follow_ups == ()  # a result that is no JSON is a failure
    assert len(outcomes.completed(job, None, Policy()).follow_ups) == 1


def test_nothing_can_follow_an_attempt_that_has_ended() -> None:
    ctx, job = attempt()
    job.ended = True

    with pytest.raises(AttemptEnded):
        ctx.enqueue("next")


@pytest.mark.parametrize("percent", [-1, 101, float("nan"), True, "50", None])
def test_progress_outside_its_range_is_refused(percent: Any) -> None:
    ctx, job = attempt()

    with pytest.raises(BadInput, match="percent"):
        ctx.progress(percent)

    assert job.words is None


def test_words_are_cut_to_what_is_kept() -> None:
    ctx, job = attempt()

    ctx.progress(99.9, "é" * 100)
    ctx.log("x" * 5000)
    for bad in (ctx.log, lambda text: ctx.progress(1, text)):
        with pytest.raises(BadInput):
            bad(b"bytes")  # type: ignore[arg-type]  # what a careless handler may pass

    assert job.words is not None
    said = job.words.message()
    assert said is not None
    assert said.progress is not None
    assert said.progress[0] == 99
    assert len(said.progress[1].encode()) <= limits.MAX_PROGRESS_NOTE_BYTES
    assert len(said.lines[0].encode()) <= limits.MAX_LOG_LINE_BYTES
