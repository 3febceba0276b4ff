"""A collector of a test's own: takes spans by OTLP over gRPC and over HTTP, and keeps them."""

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc  # type: ignore[import-untyped]  # it has no types
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

from tests.support import eventually_sync


@dataclass(frozen=True, slots=True)
class Seen:
    """A span as it arrived."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    """Trace and span of each."""
    error: str | None
    """The status' description if it failed."""

    @property
    def job_id(self) -> str | None:
        job_id: str | None = self.attributes.get("messaging.message.id")
        return job_id


class Collector:
    """What arrived so far, by either protocol."""

    def __init__(self, grpc_port: int, http_port: int) -> None:
        self.grpc_endpoint = f"127.0.0.1:{grpc_port}"
        self.http_endpoint = f"http://127.0.0.1:{http_port}"
        self.spans: list[Seen] = []
        self.requests: list[dict[str, str]] = []
        """The headers of each call."""
        self.bodies: list[bytes] = []
        self._lock = threading.Lock()

    def take(self, request: ExportTraceServiceRequest, headers: dict[str, str]) -> None:
        """One batch."""
        seen = []
        for resource_spans in request.resource_spans:
            service = _values(resource_spans.resource.attributes).get("service.name", "")
            for scope_spans in resource_spans.scope_spans:
                seen += [_seen(service, span) for span in scope_spans.spans]
        with self._lock:
            self.requests.append(headers)
            self.bodies.append(request.SerializeToString())
            self.spans += seen

    def trace(self, trace_id: str) -> list[Seen]:
        """The spans of one trace, by their start."""
        with self._lock:
            return sorted((span for span in self.spans if span.trace_id == trace_id), key=lambda span: span.start_ns)

    def names(self, trace_id: str) -> list[str]:
        return [span.name for span in self.trace(trace_id)]

    def await_names(self, trace_id: str, *names: str, within_s: float = 30.0) -> list[Seen]:
        """The trace, once it has at least these spans, as often as named."""

        def has_all() -> bool:
            there = self.names(trace_id)
            return all(there.count(name) >= names.count(name) for name in names)

        try:
            eventually_sync(has_all, within_s=within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}: there are {self.names(trace_id)}, wanted {names}") from None
        return self.trace(trace_id)


def _seen(service: str, span: Any) -> Seen:
    failed = span.status.code == 2
    return Seen(
        service,
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _values(span.attributes),
        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        span.status.message if failed else None,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@contextmanager
def a_collector() -> Iterator[Collector]:
    """Listens on two free loopback ports."""
    made: list[Collector] = []

    class Grpc(TraceServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:
            made[0].take(request, dict(context.invocation_metadata()))
            return ExportTraceServiceResponse()

    class Http(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path != "/v1/traces":
                self.send_error(404)
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            made[0].take(ExportTraceServiceRequest.FromString(body), headers)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    rpc = grpc.server(futures.ThreadPoolExecutor(2))
    add_TraceServiceServicer_to_server(Grpc(), rpc)  # type: ignore[no-untyped-call]
    grpc_port = rpc.add_insecure_port("127.0.0.1:0")
    web = ThreadingHTTPServer(("127.0.0.1", 0), Http)
    made.append(Collector(grpc_port, web.server_address[1]))
    rpc.start()
    thread = threading.Thread(target=web.serve_forever, daemon=True)
    thread.start()
    try:
        yield made[0]
    finally:
        rpc.stop(None).wait()
        web.shutdown()
        web.server_close()
        thread.join()
