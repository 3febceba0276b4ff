"""A network between a program and its server that does what networks do: delays, swallows, loses, splits."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

from leaseforge.scripts import ENGINE

Which = Callable[[bytes], bool]


def none(request: bytes) -> bool:
    """No request."""
    return False


def calls_of(script: str) -> Which:
    """Requests that call the script."""
    sha = ENGINE.load(script).sha.encode()
    return lambda request: sha in request


class EveryThird:
    """The first and then every third of the chosen requests."""

    def __init__(self, chosen: Which) -> None:
        self._chosen = chosen
        self._seen = 0

    def __call__(self, request: bytes) -> bool:
        chosen = self._chosen(request)
        self._seen += chosen
        return chosen and self._seen % 3 == 1


class Proxy:
    """A TCP relay whose faults are switched on and off while it runs.

    `latency_s` delays whatever passes, each way. While `swallows` is set nothing passes in either direction, on
    connections old and new, and nobody is told. `loses` picks requests that are carried out but whose reply is dropped
    and the connection closed; `holds` those whose reply is kept back until the connection ends (`held` counts them).
    While `splits` is set every byte travels alone.
    """

    def __init__(self, port: int) -> None:
        self.latency_s = 0.0
        self.swallows = False
        self.splits = False
        self.loses: Which = none
        self.holds: Which = none
        self.lost = 0
        self.held = 0
        self.connections = 0
        self._port = port
        self._relays: dict[asyncio.Task[None], _Relay] = {}

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client."""
        self.connections += 1
        relay = _Relay(self, reader, writer)
        task = asyncio.create_task(relay.run(self._port))
        self._relays[task] = relay
        task.add_done_callback(self._relays.pop)

    def vanish(self) -> None:
        """The server's end of every open connection is gone and the client's does not know: half-open."""
        for relay in self._relays.values():
            relay.vanish()

    def cut(self) -> None:
        """Closes every open connection."""
        for task in list(self._relays):
            task.cancel()

    async def close(self) -> None:
        """Ends all connections."""
        self.cut()
        await asyncio.gather(*self._relays, return_exceptions=True)


class _Relay:
    """One client's connection and the server's behind it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._server_writer: asyncio.StreamWriter | None = None
        self._dropping = False
        self._holding = False
        self._vanished = False

    def vanish(self) -> None:
        self._vanished = True
        if self._server_writer is not None:
            self._server_writer.close()

    async def run(self, port: int) -> None:
        ways: list[asyncio.Task[None]] = []
        try:
            with contextlib.suppress(OSError):  # a server that is down: the client sees its connection close
                server_reader, self._server_writer = await asyncio.open_connection("127.0.0.1", port)
                ways = [
                    asyncio.create_task(self._forth(self._server_writer)),
                    asyncio.create_task(self._back(server_reader)),
                ]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                if self._vanished:
                    await asyncio.wait(ways[:1])
        finally:
            for writer in (
                self._writer,
                self._server_writer,
            ):  # before any wait: a second cancellation may cut it short
                if writer is not None:
                    writer.close()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _forth(self, to: asyncio.StreamWriter) -> None:
        while request := await self._reader.read(1 << 20):
            self._dropping = self._dropping or self._proxy.loses(request)
            if self._proxy.holds(request):
                self._holding = True
            if not self._vanished:
                await self._pass(request, to)

    async def _back(self, source: asyncio.StreamReader) -> None:
        while reply := await source.read(1 << 20):
            if self._dropping:
                self._proxy.lost += 1
                return
            if self._holding:
                self._proxy.held += 1
                continue
            if not self._vanished:
                await self._pass(reply, self._writer)

    async def _pass(self, data: bytes, to: asyncio.StreamWriter) -> None:
        if self._proxy.swallows:
            return
        if self._proxy.latency_s:
            await asyncio.sleep(self._proxy.latency_s)
        if self._proxy.splits:
            for position in range(len(data)):
                to.write(data[position : position + 1])
                await asyncio.sleep(0)
        else:
            to.write(data)
        await to.drain()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy in front of the server at `url`, and the URL that leads through it.

    It lives in the test's loop: what blocks the loop, such as waiting for a process, blocks the line.
    """
    parts = urlsplit(url)
    assert parts.port is not None
    proxy = Proxy(parts.port)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield proxy, urlunsplit(parts._replace(netloc=f"127.0.0.1:{port}"))
    finally:
        server.close()
        await proxy.close()
        await server.wait_closed()
