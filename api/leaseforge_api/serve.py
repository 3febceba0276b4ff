"""Runs the application: checks Redis first, listens, and stops without leaving streams or requests behind."""

import asyncio
import gc
import socket
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn
from litestar import Litestar

from leaseforge import events, logs, tracing
from leaseforge.errors import LeaseforgeError
from leaseforge.store import connect
from leaseforge_api.app import STORE_PATIENCE_S, create_app
from leaseforge_api.connections import KEEP_ALIVE_S, BoundedProtocol, Connections
from leaseforge_api.settings import ServerSettings

GRACE_S = 10
GARBAGE = (10_000, 20, 20)
"""When a process that only serves looks for garbage: of the hundreds of objects a request makes hardly one needs it."""

if TYPE_CHECKING:
    from leaseforge.tracing_sdk import Recording

log = structlog.get_logger()


class CannotServe(LeaseforgeError):
    """The server could not start to listen."""


class Server(uvicorn.Server):
    """uvicorn that leaves no request unanswered when it stops.

    The application is told first: streams end, `/ready` refuses. Requests are taken for `delay_s` more, each answer the
    last one of its connection, so that load balancers look elsewhere. Then nobody is let in, and what is open ends.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_start: Callable[[], None],
        on_stop: Callable[[], None],
        delay_s: float = 0.0,
    ) -> None:
        super().__init__(config)
        self.server_state = self._connections = Connections()
        self._on_start = on_start
        self._on_stop = on_stop
        self._delay_s = delay_s

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
        self._connections.is_stopping = True
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Waits `delay_s`, then ends what is open within the grace. A second signal cuts both short."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._delay_s
        while not self.force_exit and loop.time() < until:  # noqa: ASYNC110 -- uvicorn has a flag there, no event
            await asyncio.sleep(0.1)
        # The kernel has let these in already: with the listening socket closed over them their requests would be lost.
        late = [loop.create_task(self._let_in(each)) for listening in sockets or [] for each in _waiting(listening)]
        await super().shutdown(sockets)
        await asyncio.gather(*late)

    async def _let_in(self, connection: socket.socket) -> None:
        _, protocol = await asyncio.get_running_loop().connect_accepted_socket(
            lambda: BoundedProtocol(self.config, self.server_state, self.lifespan.state), connection
        )
        protocol.shutdown()


def serve(settings: ServerSettings) -> None:
    """Serve until SIGTERM or SIGINT. Raises StoreUnavailable or StoreUnsuitable (Redis), CannotServe (address)."""
    logs.configure(settings.http.log_level, format=settings.http.log_format)
    recording = tracing.start(settings.http.tracing, "leaseforge-server")
    try:
        asyncio.run(run_server(settings, recording, on_start=_keep_what_stays))
    finally:
        if recording is not None:
            recording.end()


async def run_server(
    settings: ServerSettings, recording: "Recording | None" = None, *, on_start: Callable[[], None] = lambda: None
) -> None:
    """The same inside a running loop. `on_start` is called once it listens."""
    async with connect(settings.engine.redis_url, retry_s=STORE_PATIENCE_S) as store:
        await store.check()
        app = create_app(settings, store, recording=recording)
        with listen(settings.http.api_addr) as listening:
            address = _text(listening.getsockname())

            def started() -> None:
                on_start()
                log.info(events.SERVER_STARTED, address=address)

            server = server_of(app, settings, on_start=started)
            await server.serve(sockets=[listening])
        if not server.started:
            raise CannotServe("the server did not start: the log says why")
        log.info(events.SERVER_STOPPED)


def _keep_what_stays() -> None:
    """Takes what the server is made of out of later collections of garbage.

    It stays as long as the process runs: looked through each time it would cost a request tens of ms now and then.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def server_of(app: Litestar, settings: ServerSettings, *, on_start: Callable[[], None] = lambda: None) -> Server:
    """What serves the application once it is given a socket."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        http=BoundedProtocol,
        server_header=False,
        # Addresses behind proxies are our own business: see TRUSTED_PROXIES.
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
    return Server(config, on_start=on_start, on_stop=app.state.stop.set, delay_s=settings.http.stop_delay_s)


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


def _waiting(listening: socket.socket) -> Iterator[socket.socket]:
    """The connections that wait to be accepted."""
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:  # none is left, or one is gone again
            return
        connection.setblocking(False)
        yield connection


def _text(address: tuple[Any, ...]) -> str:
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"{host}:{address[1]}"
