"""The spans of a worker: what it does with each job, in the trace the job carries. Imported only where tracing is on.

    task.claim ─ task.execute ─ (the handler's own)
               └ task.acknowledge ─ retry.schedule | dlq.transition

`task.claim` hangs on what the job carries, so that the attempts of all workers, before and after any crash, are one
trace. One call claims many jobs: beyond one, `task.claim_batch` stands for the call, in a trace of its own, and links
to each of them as they link to it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from opentelemetry.context import Context, attach
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Tracer, set_span_in_context

from leaseforge.answers import Answer
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState
from leaseforge.moves import Moved
from leaseforge.tracing_sdk import Recording, trace_of_job
from leaseforge.tracing_spans import MAX_LINKS, Facts, context_of, facts, failed, now_ns, remote, tell_moves, under
from leaseforge_worker.held import Held, Stop

_NOTHING: Final = Context()
_ANSWERS = {Outcome.FAIL: "failed", Outcome.CRASH: "crashed"}


class JobTrace:
    """The spans of one claimed job."""

    __slots__ = ("claimed", "context", "ended_ns", "execute", "is_recorded", "parent")

    def __init__(self, claimed: Span) -> None:
        self.parent = parent = set_span_in_context(claimed, _NOTHING)
        self.claimed = claimed
        self.is_recorded = claimed.get_span_context().trace_flags.sampled
        """Whether this trace is recorded; what is not costs little more than its claim."""
        self.execute: Span | None = None
        self.context = parent
        """Under which the handler runs."""
        self.ended_ns = 0

    @property
    def facts(self) -> dict[str, str]:
        """What a log line says of it."""
        context = (self.execute or self.claimed).get_span_context()
        return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}

    @property
    def carried(self) -> tuple[str, str]:
        """The span of the attempt as traceparent and tracestate, for another process."""
        return context_of(self.execute or self.claimed) or ("", "")


class JobTraces:
    """Makes the spans of one worker. All methods belong to the event loop, but for `call`."""

    def __init__(self, recording: Recording, worker: str) -> None:
        self._tracer: Tracer = recording.tracer
        self._worker = worker

    def claimed(self, jobs: Sequence[Held], *, since_ns: int) -> None:
        """A call brought these jobs."""
        if not jobs:
            return
        until_ns = now_ns()
        batch = self._batch(jobs, since_ns) if len(jobs) > 1 else None
        links = [Link(batch.get_span_context())] if batch is not None and batch.is_recording() else []
        for held in jobs:
            claimed = held.claimed
            attributes = facts(
                claimed.id,
                "claim",
                {
                    "messaging.destination.name": claimed.queue,
                    "leaseforge.task": claimed.type,
                    "leaseforge.attempt": claimed.attempt,
                    "leaseforge.worker": self._worker,
                    "leaseforge.fence": claimed.fence,
                },
            )
            span = self._first(claimed, attributes, links, since_ns)
            span.end(until_ns)
            held.trace = JobTrace(span)
        if batch is not None:
            batch.end(until_ns)

    def started(self, held: Held) -> None:
        """The attempt begins."""
        trace = held.trace
        if trace is None or not trace.is_recorded or trace.execute is not None:
            return
        claimed = held.claimed
        attributes = facts(
            claimed.id, "execute", {"leaseforge.task": claimed.type, "leaseforge.attempt": claimed.attempt}
        )
        trace.execute = self._tracer.start_span("task.execute", trace.parent, SpanKind.CONSUMER, attributes)
        trace.context = set_span_in_context(trace.execute, _NOTHING)

    def enter(self, held: Held) -> None:
        """Puts the code that runs in these context variables under the attempt's span."""
        if held.trace is not None:
            attach(held.trace.context)

    def call(self, held: Held, function: Callable[[], Any]) -> Any:
        """Calls a function under the attempt's span, in a thread with context variables of its own."""
        self.enter(held)
        return function()

    def ended(self, held: Held) -> None:
        """The attempt ended; how, its settlement says."""
        trace = held.trace
        if trace is None or not trace.is_recorded:
            return
        trace.ended_ns = now_ns()
        span = trace.execute
        if span is None:
            return
        settlement = held.settlement
        if settlement is None:
            failed(span, str(held.stop or Stop.FENCED), "")
        elif settlement.outcome in _ANSWERS:
            failed(span, settlement.error_kind, settlement.error_message)
        elif settlement.outcome is not Outcome.COMPLETE:
            span.set_attribute("leaseforge.stopped", str(settlement.outcome))
        span.end(trace.ended_ns)

    def settled(self, held: Held, settlement: Settlement, answer: Answer, state: JobState | None) -> None:
        """Redis answered for a settlement."""
        trace, claimed = held.trace, held.claimed
        if trace is None or not trace.is_recorded:
            return
        more: dict[str, str | int] = {"leaseforge.outcome": str(settlement.outcome), "leaseforge.answer": str(answer)}
        if state is not None:
            more["leaseforge.state"] = str(state)
        span = self._tracer.start_span(
            "task.acknowledge",
            trace.parent,
            attributes=facts(claimed.id, "settle", more),
            start_time=trace.ended_ns or None,
        )
        if answer is Answer.FENCED:
            failed(span, "fenced", "")
        inside = set_span_in_context(span, _NOTHING)
        if state is JobState.RETRYING:
            about = facts(claimed.id, "schedule", {"leaseforge.delay_ms": settlement.delay_ms})
            self._tracer.start_span("retry.schedule", inside, attributes=about).end()
        elif state is JobState.DEAD:
            reason = settlement.permanent or ("poison" if settlement.outcome is Outcome.CRASH else "attempts_exhausted")
            about = facts(claimed.id, "transition", {"leaseforge.reason": reason})
            self._tracer.start_span("dlq.transition", inside, attributes=about).end()
        if settlement.follow_ups and answer is Answer.OK:
            self._follow_ups(settlement, trace.ended_ns)
        span.end()

    def moved(self, moves: Sequence[Moved], *, since_ns: int) -> None:
        """A sweep or an exchange recovered or promoted these."""
        if moves:
            tell_moves(self._tracer, moves, since_ns=since_ns)

    def _first(self, claimed: Claimed, attributes: Facts, links: Sequence[Link], since_ns: int) -> Span:
        parent = remote(claimed.traceparent, claimed.tracestate)
        if parent is not None:
            return self._tracer.start_span("task.claim", under(parent), SpanKind.CONSUMER, attributes, links, since_ns)
        with trace_of_job(claimed.id):
            return self._tracer.start_span("task.claim", _NOTHING, SpanKind.CONSUMER, attributes, links, since_ns)

    def _batch(self, jobs: Sequence[Held], since_ns: int) -> Span | None:
        """The call as a span, if any of its jobs is recorded."""
        carried: list[SpanContext] = []
        for held in jobs:
            context = remote(held.claimed.traceparent, held.claimed.tracestate)
            if context is not None and context.trace_flags.sampled:
                carried.append(context)
        if not carried:
            return None
        attributes: dict[str, str | int] = {
            "messaging.system": "leaseforge",
            "messaging.operation.name": "claim",
            "messaging.destination.name": jobs[0].claimed.queue,
            "messaging.batch.message_count": len(jobs),
            "leaseforge.worker": self._worker,
        }
        links = [Link(context) for context in carried[:MAX_LINKS]]
        return self._tracer.start_span(
            "task.claim_batch", _NOTHING, SpanKind.CLIENT, attributes, links=links, start_time=since_ns
        )

    def _follow_ups(self, settlement: Settlement, since_ns: int) -> None:
        """The jobs this one asked for exist from now on, or soon, in their own queue."""
        for job in settlement.follow_ups:
            parent = remote(job.traceparent, job.tracestate)
            if parent is not None:
                about = facts(
                    job.id,
                    "enqueue",
                    {"messaging.destination.name": job.queue, "leaseforge.task": job.type},
                )
                self._tracer.start_span(
                    "task.enqueue", under(parent), SpanKind.PRODUCER, about, start_time=since_ns or None
                ).end()
