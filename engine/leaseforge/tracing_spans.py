"""Spans of what happens to jobs. Needs OpenTelemetry's API: imported only where the program has loaded it.

Every span of a job belongs to the trace the job carries, so that all it goes through, in any process and after any
restart, is one trace. Attributes hold ids, names and counts: no payload, no result, no secret.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Self

from opentelemetry.context import Context, attach
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    TracerProvider,
    get_current_span,
    get_tracer_provider,
    set_span_in_context,
)
from opentelemetry.trace.span import TraceState

from leaseforge.answers import Answer
from leaseforge.enqueueing import Enqueued
from leaseforge.fingerprints import normalise
from leaseforge.jobs import NewJob
from leaseforge.moves import Moved
from leaseforge.redaction import redacted_text
from leaseforge.secret_names import MASK, is_secret
from leaseforge.texts import cut
from leaseforge.trace_context import TraceContext, is_traceparent

SCOPE: Final = "leaseforge"
MAX_LINKS = 128
"""Jobs one span links to at most: OpenTelemetry's own default."""
_MAX_KIND_BYTES = 128
_PROMOTIONS = {"scheduled": "schedule.promote", "retrying": "retry.promote"}
_PAIR = re.compile(r"(([\w-]{2,40})\s*[=:]\s*)([^\s,;]+)")
_NOTHING = Context()

Facts = Mapping[str, str | int]

_known: tuple[TracerProvider, Tracer] | None = None


def tracer() -> Tracer:
    """The tracer of the program's own provider."""
    global _known
    provider = get_tracer_provider()
    if _known is None or _known[0] is not provider:
        _known = (provider, provider.get_tracer(SCOPE))
    return _known[1]


def current() -> TraceContext | None:
    """The span the running code belongs to."""
    return context_of(get_current_span())


def context_of(span: Span) -> TraceContext | None:
    """A span as what a job carries."""
    context = span.get_span_context()
    if not context.is_valid:
        return None
    flags = context.trace_flags & TraceFlags.SAMPLED
    state = context.trace_state.to_header() if context.trace_state else ""
    return TraceContext(f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags:02x}", state)


def remote(traceparent: str | None, tracestate: str | None = None) -> SpanContext | None:
    """What a job carries, as a span of somebody else; None for none, and for what is damaged."""
    if traceparent is None or not is_traceparent(traceparent):
        return None
    return SpanContext(
        int(traceparent[3:35], 16),
        int(traceparent[36:52], 16),
        is_remote=True,
        trace_flags=TraceFlags(int(traceparent[53:55], 16) & TraceFlags.SAMPLED),
        trace_state=TraceState.from_header([tracestate]) if tracestate else None,
    )


def enter(traceparent: str, tracestate: str) -> None:
    """See leaseforge.tracing.enter."""
    attach(under(remote(traceparent, tracestate or None)))


def under(parent: SpanContext | None) -> Context:
    """The context in which new spans are children of `parent`, or roots."""
    return _NOTHING if parent is None else set_span_in_context(NonRecordingSpan(parent), _NOTHING)


def facts(job_id: str, operation: str, more: Facts) -> Facts:
    """The attributes of a span about one job."""
    return {"messaging.system": SCOPE, "messaging.operation.name": operation, "messaging.message.id": job_id, **more}


def failed(span: Span, kind: str, message: str) -> None:
    """Marks a span as failed. The message is masked as log lines are, and what varies (numbers, quotes) is left out."""
    kind = cut(kind, _MAX_KIND_BYTES)
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, f"{kind}: {_masked(message)}" if message else kind))


def _masked(message: str) -> str:
    text = _PAIR.sub(lambda found: f"{found[1]}{MASK}" if is_secret(found[2], found[3]) else found[0], message[:1000])
    return normalise(redacted_text(text))


class Enqueue:
    """The span of one enqueue call. See leaseforge.tracing.enqueueing."""

    def __init__(self, jobs: Sequence[NewJob]) -> None:
        parents = {(job.traceparent, job.tracestate) for job in jobs}
        is_one = len(parents) == 1
        own = remote(*next(iter(parents))) if is_one else None
        queues = {job.queue for job in jobs}
        attributes: dict[str, str | int] = {"messaging.system": SCOPE, "messaging.operation.name": "enqueue"}
        if len(queues) == 1:
            attributes["messaging.destination.name"] = next(iter(queues))
        if len(jobs) == 1:
            attributes |= {"messaging.message.id": jobs[0].id, "leaseforge.task": jobs[0].type}
        else:
            attributes["messaging.batch.message_count"] = len(jobs)
        linked = [] if is_one else [context for pair in sorted(parents, key=str) if (context := remote(*pair))]
        self._span = tracer().start_span(
            "task.enqueue",
            context=under(own) if own else None,
            kind=SpanKind.PRODUCER,
            attributes=attributes,
            links=[Link(context) for context in linked[:MAX_LINKS]],
        )
        found = context_of(self._span)
        self.jobs = jobs if found is None else [_carrying(job, found, keep=not is_one) for job in jobs]

    def stored(self, answers: Sequence[Enqueued]) -> None:
        """What became of them."""
        span = self._span
        if not span.is_recording():
            return
        created = sum(one.answer is Answer.CREATED for one in answers)
        if len(answers) == 1:
            span.set_attribute("leaseforge.answer", str(answers[0].answer))
            if not created:
                span.set_attribute("leaseforge.first_id", answers[0].id)
        else:
            span.set_attribute("leaseforge.created", created)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, GeneratorExit):
            failed(self._span, type(error).__name__, "")
        self._span.end()


def _carrying(job: NewJob, context: TraceContext, *, keep: bool) -> NewJob:
    """The job with the call's span as what it carries; one with a trace of its own may `keep` that."""
    if keep and job.traceparent is not None:
        return job
    return replace(job, traceparent=context.traceparent, tracestate=context.tracestate or None)


def tell_moves(tracer: Tracer, moves: Sequence[Moved], *, since_ns: int) -> None:
    """One span in each job's trace. It links to the running code's span: the operator's request, if there is one."""
    cause = get_current_span().get_span_context()
    for move in moves:
        parent = remote(move.traceparent)
        if parent is None:
            continue
        how, _, detail = move.how.partition(":")
        links = [Link(cause)] if cause.is_valid and cause.span_id != parent.span_id else []
        name, more = _named(how, detail)
        attributes = facts(move.id, name.partition(".")[2], {"leaseforge.attempt": move.attempts, **more})
        span = tracer.start_span(name, under(parent), SpanKind.INTERNAL, attributes, links, since_ns)
        if how == "lost" and detail == "dead":
            died = facts(move.id, "transition", {"leaseforge.reason": "poison"})
            tracer.start_span("dlq.transition", set_span_in_context(span, _NOTHING), attributes=died).end()
        span.end()


def _named(how: str, detail: str) -> tuple[str, Facts]:
    if how == "lost":
        return "task.recover", {"leaseforge.state": detail}
    if how == "dead":
        return "dlq.transition", {"leaseforge.reason": detail}
    if how == "replayed":
        return "dlq.replay" if detail == "dead" else "task.requeue", {"leaseforge.was": detail}
    return _PROMOTIONS.get(how, "task.move"), {}


def now_ns() -> int:
    """The time spans are stamped with: Unix time in ns."""
    return time.time_ns()
