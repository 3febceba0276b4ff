"""Recording traces and sending them away, for processes of Leaseforge's own. Imported only where tracing is on.

Spans wait in a bounded queue and are sent by a thread of their own: a collector that is slow or gone costs spans, never
a job's time, and it holds up the end of a process by a second at most.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from importlib.metadata import version
from typing import Any, Final

import structlog
from opentelemetry import trace
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from leaseforge import events
from leaseforge.texts import cut
from leaseforge.tracing_settings import TracingSettings
from leaseforge.tracing_spans import SCOPE

END_WITHIN_S: Final = 1.0
"""What is left to be sent at the end of a process has this long."""
_MAX_ATTRIBUTE_LENGTH = 1024
_SAY_EVERY_S = 60.0

log = structlog.get_logger()

_wanted: ContextVar[int | None] = ContextVar("leaseforge_trace_id", default=None)


class Recording:
    """The traces of this process: the tracer for our spans, and their way out."""

    def __init__(
        self, settings: TracingSettings, service: str, *, instance: str = "", delay_ms: int | None = None
    ) -> None:
        """Starts to record; handlers' own spans too, unless the program has set up OpenTelemetry by itself.

        `delay_ms` is how often spans leave, for processes that may be killed at any time.
        """
        own = {"service.name": settings.service_name or service, "service.version": version("leaseforge")}
        if instance:
            own["service.instance.id"] = instance
        given = OTELResourceDetector().detect().attributes
        limit = None if "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT" in os.environ else _MAX_ATTRIBUTE_LENGTH
        self._provider = TracerProvider(
            resource=Resource.create(own | dict(given)),
            id_generator=_Ids(),
            span_limits=SpanLimits(max_span_attribute_length=limit),
            shutdown_on_exit=False,  # it would wait for the collector
        )
        self._provider.add_span_processor(BatchSpanProcessor(_exporter(settings), schedule_delay_millis=delay_ms))
        _Sayings.hear()
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(self._provider)
        self.tracer = self._provider.get_tracer(SCOPE)

    def end(self) -> None:
        """Sends what is left, for a second at most."""
        ending = threading.Thread(target=self._provider.shutdown, name="tracing-end", daemon=True)
        ending.start()
        ending.join(END_WITHIN_S)


@contextmanager
def trace_of_job(job_id: str) -> Iterator[None]:
    """A root span that begins in here belongs to the job's own trace, the same one in every process.

    That is for jobs whose producer has no trace: all their attempts are found together nevertheless.
    """
    token = _wanted.set(int.from_bytes(sha256(job_id.encode()).digest()[:16]) or 1)
    try:
        yield
    finally:
        _wanted.reset(token)


class _Ids(RandomIdGenerator):
    def generate_trace_id(self) -> int:
        wanted = _wanted.get()
        return super().generate_trace_id() if wanted is None else wanted


def _exporter(settings: TracingSettings) -> SpanExporter:
    """The way out. Each protocol's packages are imported only where it is used: gRPC alone weighs 15 MB."""
    if settings.uses_grpc:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(
            endpoint=settings.target,
            insecure=None if "://" in settings.target or _is_tls_asked_for() else True,
            timeout=settings.timeout_s,
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http(endpoint=settings.url, timeout=settings.timeout_s)


def _is_tls_asked_for() -> bool:
    """A host:port says nothing of TLS: it is plain unless one of these speaks of it."""
    names = ("INSECURE", "CERTIFICATE", "TRACES_INSECURE", "TRACES_CERTIFICATE")
    return any(f"OTEL_EXPORTER_OTLP_{name}" in os.environ for name in names)


class _Sayings(logging.Handler):
    """What OpenTelemetry has to say, as log lines of ours: at most one a minute, or a dead collector fills the log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said_at = -_SAY_EVERY_S
        self._unsaid = 0

    @classmethod
    def hear(cls) -> None:
        """Takes over what the packages of OpenTelemetry log in this process."""
        logger = logging.getLogger("opentelemetry")
        if not any(isinstance(handler, cls) for handler in logger.handlers):
            logger.addHandler(cls())
            logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """A warning or an error."""
        now = time.monotonic()
        if now - self._said_at < _SAY_EVERY_S:
            self._unsaid += 1
            return
        self._said_at = now
        facts: dict[str, Any] = {"message": cut(record.getMessage(), 300)}
        if self._unsaid:
            facts["unsaid"], self._unsaid = self._unsaid, 0
        log.warning(events.TRACING_TROUBLE, **facts)
