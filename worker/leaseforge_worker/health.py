"""A worker's own HTTP port: probes and metrics, from a thread, so that busy handlers cannot make it look dead."""

import errno
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from leaseforge.errors import LeaseforgeError
from leaseforge.metrics_token import is_bearer

_REQUEST_TIMEOUT_S = 5.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class AddressInUse(LeaseforgeError):
    """The address for probes and metrics cannot be listened on; the message says how to choose another."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a probe may know: does Redis answer, and does the worker take work.

    It takes work while it asks for it as it should: its last claim or wait for work was answered within 10 s, or no
    slot is free; and it is neither quiet nor draining. A paused or empty queue is waited for like any other, and long
    jobs in every slot are what a worker is for: both are ready. A handler that blocks the event loop while slots are
    free keeps work out of them: not ready.
    """

    redis_ok: bool
    accepts_work: bool


class HealthServer:
    """Serves /livez, /health, /ready and /metrics.

    /livez only says that the process lives: restarting a worker does not bring Redis back. /health
    and /ready answer 503 without Redis, /ready also while the worker takes no work (see Health). No
    probe asks Redis anything: they tell what the worker's own loops last experienced. With a token only those who
    send it as a bearer token get /metrics.
    """

    def __init__(
        self,
        address: tuple[str, int],
        *,
        health: Callable[[], Health],
        metrics: Callable[[], bytes],
        metrics_token: str = "",
    ) -> None:
        host, port = address

        class Handler(_Handler):
            pages = _Pages(health, metrics, metrics_token)

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            daemon_threads = True

        try:
            self._server = Server((host, port), Handler)
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise AddressInUse(
                f"{host}:{port} {why}: give this worker another address for probes and metrics "
                "(LEASEFORGE_METRICS_ADDR=127.0.0.1:0 for any free port, off for none)"
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="health", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens; the port is the real one if 0 was asked for."""
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(1.0)


@dataclass(frozen=True, slots=True)
class _Pages:
    health: Callable[[], Health]
    metrics: Callable[[], bytes]
    metrics_token: str

    def get(self, path: str, authorization: str | None) -> tuple[HTTPStatus, str, bytes] | None:
        """Status, content type and body of a path, or None for one that is not here."""
        match path:
            case "/livez":
                return HTTPStatus.OK, "application/json", b'{"status":"ok"}'
            case "/health":
                health = self.health()
                return _probe("ok", "unavailable", health.redis_ok, health)
            case "/ready":
                health = self.health()
                return _probe("ready", "not_ready", health.redis_ok and health.accepts_work, health)
            case "/metrics" if self.metrics_token and not is_bearer(authorization, self.metrics_token):
                return HTTPStatus.UNAUTHORIZED, "application/json", b'{"status":"unauthorized"}'
            case "/metrics":
                return HTTPStatus.OK, _TEXT, self.metrics()
            case _:
                return None


def _probe(good: str, bad: str, fine: bool, health: Health) -> tuple[HTTPStatus, str, bytes]:
    redis = "ok" if health.redis_ok else "unavailable"
    body = json.dumps({"status": good if fine else bad, "redis": redis}, separators=(",", ":")).encode()
    return HTTPStatus.OK if fine else HTTPStatus.SERVICE_UNAVAILABLE, "application/json", body


class _Handler(BaseHTTPRequestHandler):
    pages: _Pages
    server_version = "leaseforge"
    sys_version = ""
    timeout = _REQUEST_TIMEOUT_S

    def do_GET(self) -> None:
        """A probe or a scrape."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """The same without a body."""
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:
        """Probes come every few seconds; they are no news."""

    def _answer(self, *, with_body: bool) -> None:
        page = self.pages.get(self.path.partition("?")[0], self.headers.get("Authorization"))
        status, content_type, body = page or (HTTPStatus.NOT_FOUND, "application/json", b'{"status":"not_found"}')
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        if with_body:
            self.wfile.write(body)
