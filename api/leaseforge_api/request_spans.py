"""A span for each request, named after its route: whoever called goes on in it, and what the request does hangs on it.

Imported only where tracing is on. Probes, metrics and files are left out: machines ask for them all the time.
"""

from collections.abc import MutableMapping
from typing import Any, Final

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send
from opentelemetry.context import attach, detach
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from leaseforge.trace_context import read_headers
from leaseforge.tracing_spans import remote, under

_KEY: Final = "leaseforge.span"
_LEFT_OUT: Final = ("/livez", "/health", "/ready", "/metrics", "/static")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
_STREAM: Final = b"text/event-stream"


class _Answered:
    """One request's span, ended with its answer; that of a stream of events ends when the stream begins."""

    def __init__(self, span: Span, method: str) -> None:
        self.span = span
        self.method = method
        self.route: str | None = None
        self.status = 0
        self.has_ended = False

    def end(self) -> None:
        if self.has_ended:
            return
        self.has_ended = True
        span = self.span
        if self.route:
            span.update_name(f"{self.method} {self.route}")
            span.set_attribute("http.route", self.route)
        if self.status:
            span.set_attribute("http.response.status_code", self.status)
        if self.status >= 500 or not self.status:
            span.set_attribute("error.type", str(self.status or "aborted"))
            span.set_status(Status(StatusCode.ERROR))
        span.end()


class RequestSpans:
    """Surrounds the whole server."""

    def __init__(self, app: ASGIApp, tracer: Tracer, *, root_path: str) -> None:
        self.app = app
        self._tracer = tracer
        self._left_out = tuple(f"{prefix}{path}" for path in _LEFT_OUT for prefix in {"", root_path})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] != ScopeType.HTTP or scope["path"].startswith(self._left_out):
            await self.app(scope, receive, send)
            return
        asked: Any = scope
        headers = [(name, value.decode("latin-1")) for name, value in asked["headers"] if name.startswith(b"trace")]
        caller = read_headers(
            next((value for name, value in headers if name == b"traceparent"), None),
            ",".join(value for name, value in headers if name == b"tracestate"),
        )
        method = asked["method"] if asked["method"] in _METHODS else "_OTHER"
        context = under(remote(caller.traceparent, caller.tracestate or None) if caller else None)
        span = self._tracer.start_span(
            "HTTP" if method == "_OTHER" else method,
            context,
            SpanKind.SERVER,
            {"http.request.method": method, "url.scheme": asked.get("scheme", "http")},
        )
        answered = asked[_KEY] = _Answered(span, method)

        async def pass_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                answered.status = int(message["status"])
                if any(
                    name.lower() == b"content-type" and value.startswith(_STREAM) for name, value in message["headers"]
                ):
                    answered.end()
            await send(message)

        token = attach(set_span_in_context(span, context))
        try:
            await self.app(scope, receive, pass_on)
        finally:
            detach(token)
            answered.end()


class RouteNoted:
    """Surrounds the router alone, which knows what route a request took."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request, and tells its span the route: a template, because paths hold what callers choose."""
        found: MutableMapping[str, Any] = scope  # type: ignore[assignment]  # with a key of ours besides
        answered: _Answered | None = found.get(_KEY)
        if answered is None:
            await self.app(scope, receive, send)
            return

        async def pass_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                answered.route = found.get("path_template")
            await send(message)

        await self.app(scope, receive, pass_on)
