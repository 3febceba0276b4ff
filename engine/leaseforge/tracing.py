"""Where jobs meet traces, for code that runs with and without OpenTelemetry: nothing here imports it.

A program that has set up OpenTelemetry, by itself or because `leaseforge` records traces in this process, gets spans
of what it does with jobs, and its jobs carry its trace on. In any other program this costs a look-up.
"""

import sys
from collections.abc import MutableMapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from leaseforge import events
from leaseforge.enqueueing import Enqueued
from leaseforge.jobs import NewJob
from leaseforge.moves import Moved
from leaseforge.trace_context import TraceContext
from leaseforge.tracing_settings import TracingSettings

if TYPE_CHECKING:
    from leaseforge.tracing_sdk import Recording

log = structlog.get_logger()

_API = "opentelemetry.trace"


class Enqueueing(Protocol):
    """One enqueue call. `jobs` are those to store: they carry the call's span on."""

    @property
    def jobs(self) -> Sequence[NewJob]:
        """The jobs to store, in the order given."""
        ...

    def stored(self, answers: Sequence[Enqueued]) -> None:
        """What became of them, in the same order."""
        ...


class _Untraced(AbstractContextManager["_Untraced"]):
    """An enqueue call of a program without traces."""

    __slots__ = ("jobs",)

    def __init__(self, jobs: Sequence[NewJob]) -> None:
        self.jobs = jobs

    def stored(self, answers: Sequence[Enqueued]) -> None:
        """Nobody wants to know."""

    def __exit__(self, *_: object) -> None:
        pass


def enqueueing(jobs: Sequence[NewJob]) -> AbstractContextManager[Enqueueing]:
    """Surrounds the call that stores these jobs with the span `task.enqueue`.

    It belongs to the trace of the jobs if all carry the same one, else to that of the running code; jobs with other
    traces keep them, and the span links there.
    """
    spans = _spans()
    if spans is None:
        return _Untraced(jobs)
    surrounded: AbstractContextManager[Enqueueing] = spans.Enqueue(jobs)
    return surrounded


def enter(traceparent: str, tracestate: str) -> None:
    """Puts the running code, to the end of its context variables' life, under a span of another process."""
    if traceparent and (spans := _spans()) is not None:
        spans.enter(traceparent, tracestate)


def current() -> TraceContext | None:
    """The span the running code belongs to, if there is any."""
    spans = _spans()
    return None if spans is None else spans.current()


def tell_moves(moves: Sequence[Moved], *, since_ns: int) -> None:
    """Says in their own traces what a script did to jobs, between `since_ns` (Unix time in ns) and now."""
    if moves and (spans := _spans()) is not None:
        spans.tell_moves(spans.tracer(), moves, since_ns=since_ns)


def add_trace(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Puts trace and span of the running code into a log line; a structlog processor."""
    if "trace_id" not in event and (trace := sys.modules.get(_API)) is not None:
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            event["trace_id"], event["span_id"] = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    return event


def start(
    settings: TracingSettings, service: str, *, instance: str = "", delay_ms: int | None = None
) -> "Recording | None":
    """Records this process's traces from now on, if its settings say so; `end()` what this answers with the process.

    `service` is what it is called unless its settings name it. `delay_ms` is how often spans leave, for processes that
    may be killed at any time.
    """
    if not settings.is_on:
        if settings.enabled:
            reason = "OTEL_SDK_DISABLED" if settings.sdk_disabled else "no OTEL_EXPORTER_OTLP_ENDPOINT"
            log.warning(events.TRACING_OFF, reason=reason)
        return None
    from leaseforge.tracing_sdk import Recording

    recording = Recording(settings, service, instance=instance, delay_ms=delay_ms)
    log.info(events.TRACING_STARTED, endpoint=settings.target, protocol="grpc" if settings.uses_grpc else "http")
    return recording


def _spans() -> ModuleType | None:
    """The part that makes spans, if the program has set up OpenTelemetry.

    That it is loaded says nothing: Redis's client loads it wherever it is installed.
    """
    api = sys.modules.get(_API)
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return None
    from leaseforge import tracing_spans

    return tracing_spans
