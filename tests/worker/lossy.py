"""A way to Redis that loses replies: the request arrives and is carried out, the answer never comes back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit


class LossyWay:
    """A TCP relay. Where `loses(request)` says so, the reply is dropped and the connection closed."""

    def __init__(self, port: int) -> None:
        self.loses: Callable[[bytes], bool] = lambda request: False
        self.lost = 0
        self._port = port
        self._connections: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client."""
        task = asyncio.create_task(self._relay(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def close(self) -> None:
        """Ends all connections."""
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        dropping = False

        async def forth(to: asyncio.StreamWriter) -> None:
            nonlocal dropping
            while request := await reader.read(1 << 20):
                dropping = dropping or self.loses(request)
                to.write(request)
                await to.drain()

        async def back(source: asyncio.StreamReader) -> None:
            while reply := await source.read(1 << 20):
                if dropping:
                    self.lost += 1
                    return
                writer.write(reply)
                await writer.drain()

        ways: list[asyncio.Task[None]] = []
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)
            writers.append(server_writer)
            ways = [asyncio.create_task(forth(server_writer)), asyncio.create_task(back(server_reader))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in writers:  # before any wait: a second cancellation may cut that short
                one.close()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


@asynccontextmanager
async def lossy_way(url: str) -> AsyncIterator[tuple[LossyWay, str]]:
    """A lossy way to the server at `url`, and the URL that leads through it."""
    parts = urlsplit(url)
    assert parts.port is not None
    way = LossyWay(parts.port)
    server = await asyncio.start_server(way.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield way, urlunsplit(parts._replace(netloc=f"127.0.0.1:{port}"))
    finally:
        server.close()
        await way.close()
        await server.wait_closed()
