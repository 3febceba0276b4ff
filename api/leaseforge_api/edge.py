"""The outermost layer of the server: what holds for every answer, also for errors and paths that do not exist."""

import time
from collections.abc import Callable, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any, cast

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from leaseforge import events
from leaseforge_api.metrics_http import UNMATCHED, HttpMeters
from leaseforge_api.request_ids import HEADER, request_id
from leaseforge_api.slashes import keep_slashes
from leaseforge_auth.addresses import Network, is_trusted_proxy
from leaseforge_auth.audit.action import SCOPE_KEY, Action
from leaseforge_console.pages.api import INLINE_IMAGES

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
)
# For the one page whose library draws its icons that way.
WITH_INLINE_IMAGES = CONTENT_SECURITY_POLICY.replace("img-src 'self'", "img-src 'self' data:")
ON_EVERY_ANSWER = {
    b"content-security-policy": CONTENT_SECURITY_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    # Not no-referrer: browsers would then send `Origin: null` with our own forms.
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}
UNLESS_SET = {b"cache-control": b"no-store"}
# Asked every few seconds by machines, or a dozen times a page: of no interest while all is well.
ROUTINE = ("/livez", "/health", "/ready", "/metrics", "/static/")
AUDIT_HEADER = b"x-audit-id"
"""Names the action in the audit trail that this request was."""
EVENT_STREAM = b"text/event-stream"
ONE_YEAR = b"max-age=31536000"
# A method no route has makes the router say which ones the path does have; its own answers to OPTIONS name those of
# one handler only.
_ASKED_AS = {"HEAD": "GET", "OPTIONS": "WHICH"}

log = structlog.get_logger()


class Edge:
    """Wraps the whole application: request id, path prefix, HEAD, security headers, one log line and count a request.

    HEAD is answered as GET without the body, OPTIONS with the methods of the path. A path prefix is taken off whether
    the proxy in front keeps it or strips it, so that routes never see it. Where a route begins like the prefix only the
    proxy can tell which of the two: X-Forwarded-Prefix from a trusted one says that it is off already.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        root_path: str,
        is_https: bool,
        meters: HttpMeters,
        trusted_proxies: Sequence[Network] = (),
    ) -> None:
        self.app = app
        self.trusted_proxies = trusted_proxies
        self.meters = meters
        self.root_path = root_path
        self.always = ON_EVERY_ANSWER | ({b"strict-transport-security": ONE_YEAR} if is_https else {})

    async def __call__(self, connection: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other connections are passed on as they are."""
        if connection["type"] != ScopeType.HTTP:
            await self.app(connection, receive, send)
            return
        scope = cast("MutableMapping[str, Any]", connection)
        started = time.perf_counter()
        method = scope["method"]
        scope["root_path"] = ""
        keep_slashes(scope)
        if (
            self.root_path
            and (scope["path"] + "/").startswith(self.root_path + "/")
            and not self._has_lost_prefix(scope)
        ):
            scope["path"] = scope["path"][len(self.root_path) :] or "/"
        if method in _ASKED_AS:
            # A copy: the server below has to know that it is HEAD, or it would wait for the body.
            scope = {**scope, "method": _ASKED_AS[method]}
        answer = _Answer(send, self._headers(scope), method, scope, on_stream=self.meters.streaming)
        self.meters.began()
        try:
            with structlog.contextvars.bound_contextvars(request_id=request_id(scope)):
                try:
                    await self.app(cast(Scope, scope), receive, answer)
                except Exception:
                    await answer.failed()
                    raise
                finally:
                    self._tell(scope, answer, method, started)
        except Exception:
            # The head of the answer is out and the body was not wanted: what ended the body does not matter.
            if not answer.is_cut_short:
                raise

    def _has_lost_prefix(self, scope: MutableMapping[str, Any]) -> bool:
        said = [value for name, value in scope["headers"] if name == b"x-forwarded-prefix"]
        is_ours = [value.decode("latin-1").rstrip("/") for value in said] == [self.root_path]
        return is_ours and is_trusted_proxy((scope.get("client") or ("",))[0], self.trusted_proxies)

    def _headers(self, scope: MutableMapping[str, Any]) -> dict[bytes, bytes]:
        return self.always | {HEADER: request_id(scope).encode()}

    def _tell(self, scope: MutableMapping[str, Any], answer: "_Answer", method: str, started: float) -> None:
        identity = scope.get("user")
        # The template, not the path: paths hold ids chosen by callers.
        route = scope.get("path_template") or UNMATCHED
        took_s = time.perf_counter() - started
        counted_s = took_s if answer.streams_from is None else answer.streams_from - started
        self.meters.ended(method, route, answer.status, counted_s, was_stream=answer.streams_from is not None)
        is_routine = answer.status < HTTPStatus.BAD_REQUEST and route.startswith(ROUTINE)
        (log.debug if is_routine else log.info)(
            events.REQUEST_ANSWERED,
            method=method,
            route=route,
            status=answer.status,
            duration_ms=round(took_s * 1000, 1),
            user=identity.username if identity is not None else None,
        )


class _BodyNotWanted(Exception):
    """Ends an application that goes on sending a body after the answer to HEAD is complete."""


class _Answer:
    """Passes an answer on with the headers every answer carries, and without its body for HEAD and OPTIONS.

    What the audit trail began with the request it ends with the answer's status, before the answer leaves.
    """

    def __init__(
        self,
        send: Any,
        headers: dict[bytes, bytes],
        method: str,
        scope: MutableMapping[str, Any],
        *,
        on_stream: Callable[[], None],
    ) -> None:
        self.send = send
        self.on_stream = on_stream
        self.streams_from: float | None = None
        """When it became a stream of events, by time.perf_counter()."""
        self.scope = scope
        self.headers = headers
        self.is_options = method == "OPTIONS"
        self.has_body = method not in _ASKED_AS
        self.status = 0
        self.is_cut_short = False

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            sent = [(name.lower(), value) for name, value in message.get("headers", ())]
            if self.is_options and self.status == HTTPStatus.METHOD_NOT_ALLOWED:
                self.status = HTTPStatus.NO_CONTENT
                sent = [(name, value) for name, value in sent if name == b"allow"]
            if (handler := self.scope.get("route_handler")) is not None and handler.opt.get(INLINE_IMAGES):
                self.headers = self.headers | {b"content-security-policy": WITH_INLINE_IMAGES.encode()}
            own = [(name, _with_head(name, value)) for name, value in sent if name not in self.headers]
            names = {name for name, _ in own}
            if self.has_body and any(name == b"content-type" and value.startswith(EVENT_STREAM) for name, value in own):
                self.streams_from = time.perf_counter()
                self.on_stream()
            if (action := self._action()) is not None:
                await action.close(self.status)
                own.append((AUDIT_HEADER, action.id.encode()))
            added = self.headers | {name: value for name, value in UNLESS_SET.items() if name not in names}
            message = {**message, "status": self.status, "headers": [*own, *added.items()]}
        elif message["type"] == "http.response.body" and not self.has_body:
            if self.is_cut_short:
                raise _BodyNotWanted
            self.is_cut_short = bool(message.get("more_body"))
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self.send(message)

    async def failed(self) -> None:
        """The application gave up; the audit trail is told unless the head of an answer is out."""
        if (action := self._action()) is not None:
            await action.close(HTTPStatus.INTERNAL_SERVER_ERROR)

    def _action(self) -> Action | None:
        action: Action | None = self.scope.get(SCOPE_KEY)
        return action if action is not None and action.has_begun else None


def _with_head(name: bytes, value: bytes) -> bytes:
    """The list of methods in Allow, with HEAD wherever GET is."""
    if name != b"allow":
        return value
    methods = {method.strip() for method in value.split(b",")}
    return b", ".join(sorted(methods | ({b"HEAD"} if b"GET" in methods else set())))
