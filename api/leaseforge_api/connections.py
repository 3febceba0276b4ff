"""What a connection may take: time for a request and its answer, and bytes of headers.

uvicorn waits for ever for a request that comes in byte by byte, for a reader that does not read, and for headers
without end. A few hundred such connections would keep everybody else out.
"""

import asyncio
import math
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from leaseforge_api.edge import ON_EVERY_ANSWER

HEAD_S = 15.0
"""From the first byte (or the connection) to the end of the headers."""
BODY_S = 60.0
"""From there to the end of the body: the largest one at 270 KiB/s."""
UNREAD_S = 30.0
"""How long a client may leave an answer that is on its way unread."""
KEEP_ALIVE_S = 130
"""How long an unused connection stays open: longer than proxies keep theirs (nginx 60 s, Traefik 90 s, Caddy 120 s).

Whoever waits shorter closes. Were that the server, a request could meet the end of its connection on the way.
"""
LINGER_S = 0.5
"""How long a stopping server waits for a request that may be on its way already."""
STUCK_S = 1.0
"""A stopping server cuts off a client that has read nothing for this long."""
MAX_HEAD_BYTES = 32 * 1024
MAX_HEADERS = 100
_TOO_LARGE = "The headers are too large."


class Connections(ServerState):
    """All connections of one server. Once it `is_stopping`, every answer is the last one of its connection."""

    is_stopping = False


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 of uvicorn with limits. A client beyond one gets an answer if it can, and is cut off."""

    head_s = HEAD_S
    body_s = BODY_S
    unread_s = UNREAD_S
    linger_s = LINGER_S
    stuck_s = STUCK_S

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request_timer: asyncio.TimerHandle | None = None
        self._due_at = math.inf
        self._unread_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._is_in_head = False
        self._is_head_too_large = False
        self._is_leaving = False
        self._is_gone = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own does
        """A client is here: its first request is awaited."""
        super().connection_made(transport)
        self._await_within(self.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._is_gone = True
        self._stop_waiting()
        self._cancel_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request. Those of headers are counted here: the parser keeps whatever comes."""
        if self._is_in_head or self._is_idle():
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(431, _TOO_LARGE)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._is_in_head = True
        self._await_within(self.head_s)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One more header."""
        if len(self.headers) >= MAX_HEADERS or len(name) + len(value) > MAX_HEAD_BYTES:
            self._is_head_too_large = True
            raise ValueError(_TOO_LARGE)  # the parser gives up, and asks for an answer below
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The request is known, its body may follow."""
        self._is_in_head = False
        self._head_bytes = 0
        self._await_within(self.body_s)
        super().on_headers_complete()
        if self._is_leaving or getattr(self.server_state, "is_stopping", False):
            # The answer says so, too: the client opens another connection, to a server that stays.
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """All of the request is here."""
        self._stop_waiting()
        super().on_message_complete()

    def shutdown(self) -> None:
        """The server stops: one more answer if a request is under way or comes at once, then the connection ends.

        uvicorn's own would close an unused connection now, with a request on its way that is then neither answered
        nor known to be left undone; and it would wait for a client that reads nothing.
        """
        self._is_leaving = True
        if self._is_idle():
            self.loop.call_later(self.linger_s, self._close_if_idle)
        else:
            self.cycle.keep_alive = False
        self.loop.call_later(self.stuck_s, self._cut_off_if_stuck, 0)

    def _close_if_idle(self) -> None:
        if self._is_idle():
            self.transport.close()

    def _cut_off_if_stuck(self, unread_before: int) -> None:
        if self._is_gone:
            return
        unread = self.transport.get_write_buffer_size()
        if 0 < unread == unread_before:
            self.transport.abort()
        else:
            self.loop.call_later(self.stuck_s, self._cut_off_if_stuck, unread)

    def pause_writing(self) -> None:
        """The client does not read as fast as we write."""
        super().pause_writing()
        if self._unread_timer is None:
            self._unread_timer = self.loop.call_later(self.unread_s, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def send_400_response(self, msg: str) -> None:
        """What cannot be parsed is answered with the headers of every answer, too."""
        if self._is_head_too_large:
            self._refuse(431, _TOO_LARGE)
        else:
            self._refuse(400, msg)

    def _await_within(self, seconds: float) -> None:
        """One timer serves many requests: it goes off when the first of them would have been late, and looks again."""
        self._due_at = self.loop.time() + seconds
        if self._request_timer is None or self._request_timer.when() > self._due_at:
            self._set_timer()

    def _stop_waiting(self) -> None:
        self._due_at = math.inf

    def _set_timer(self) -> None:
        self._cancel_timer()
        self._request_timer = self.loop.call_at(self._due_at, self._look_at_time)

    def _cancel_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _look_at_time(self) -> None:
        self._request_timer = None
        if self.loop.time() >= self._due_at:
            self._stop_waiting()
            self._too_slow()
        elif self._due_at < math.inf:
            self._set_timer()

    def _too_slow(self) -> None:
        if self._is_idle():
            self._refuse(408, "The request took too long.")
        else:
            # The application waits for the rest of the body: it is told that the client is gone.
            self.transport.abort()

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle  # None before the first one, whatever its declaration says
        return cycle is None or cycle.response_complete

    def _refuse(self, status: int, message: str) -> None:
        if self.transport.is_closing():
            return
        self._stop_waiting()
        lines = [STATUS_LINE[status], b"content-type: text/plain; charset=utf-8\r\n"]
        lines += [name + b": " + value + b"\r\n" for name, value in ON_EVERY_ANSWER.items()]
        lines += [f"content-length: {len(message)}\r\nconnection: close\r\n\r\n{message}".encode()]
        self.transport.write(b"".join(lines))
        self.transport.close()
