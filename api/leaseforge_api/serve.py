"""Runs the application: checks Redis first, listens, and stops without leaving streams or requests behind."""

import asyncio
import socket
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn

from leaseforge import events, logs, tracing
from leaseforge.errors import LeaseforgeError
from leaseforge.store import connect
from leaseforge_api.app import STORE_PATIENCE_S, create_app
from leaseforge_api.connections import BoundedProtocol
from leaseforge_api.settings import ServerSettings

GRACE_S = 10

if TYPE_CHECKING:
    from leaseforge.tracing_sdk import Recording

log = structlog.get_logger()


class CannotServe(LeaseforgeError):
    """The server could not start to listen."""


class Server(uvicorn.Server):
    """uvicorn that tells the application first: it would wait for streams that only end when told to."""

    def __init__(self, config: uvicorn.Config, *, on_start: Callable[[], None], on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts the application and listens."""
        await super().startup(sockets)
        if self.started:
            self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops, a second one does not wait for what is open.

        uvicorn's own would raise the signal again afterwards: an orderly stop would look like a killed process.
        """
        self._on_stop()
        self.force_exit = self.should_exit
        self.should_exit = True


def serve(settings: ServerSettings) -> None:
    """Serve until SIGTERM or SIGINT. Raises StoreUnavailable or StoreUnsuitable (Redis), CannotServe (address)."""
    logs.configure(settings.http.log_level, format=settings.http.log_format)
    recording = tracing.start(settings.http.tracing, "leaseforge-server")
    try:
        asyncio.run(run_server(settings, recording))
    finally:
        if recording is not None:
            recording.end()


async def run_server(settings: ServerSettings, recording: "Recording | None" = None) -> None:
    """The same inside a running loop."""
    async with connect(settings.engine.redis_url, retry_s=STORE_PATIENCE_S) as store:
        await store.check()
        app = create_app(settings, store, recording=recording)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            http=BoundedProtocol,
            server_header=False,
            # Addresses behind proxies are our own business: see TRUSTED_PROXIES.
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_S,
        )
        with listen(settings.http.api_addr) as listening:
            address = _text(listening.getsockname())
            server = Server(
                config,
                on_start=lambda: log.info(events.SERVER_STARTED, address=address),
                on_stop=app.state.stop.set,
            )
            await server.serve(sockets=[listening])
        if not server.started:
            raise CannotServe("the server did not start: the log says why")
        log.info(events.SERVER_STOPPED)


def listen(address: tuple[str, int]) -> socket.socket:
    """The socket that is listened on; what is sent on its connections leaves at once. Raises CannotServe."""
    try:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        listening = socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        raise CannotServe(f"cannot listen on {_text(address)} (LEASEFORGE_API_ADDR): {error.strerror}") from error
    # Connections inherit it. asyncio sets it only where a socket names TCP as its protocol, which those of a listening
    # socket like this one do not: each answer's body would wait for the acknowledgement of its head, 40 ms on Linux.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _text(address: tuple[Any, ...]) -> str:
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"{host}:{address[1]}"
