"""A server that is told to stop: whoever was let in is answered, nobody is waited for who does not listen."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from leaseforge_api.connections import BoundedProtocol
from leaseforge_api.serve import Server
from tests.api.conftest import PASSWORD, SECRET
from tests.support import Process, eventually_sync, free_port

LEASEFORGE = Path(sys.executable).with_name("leaseforge")
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Lingering(BoundedProtocol):
    """Waits longer for a request on its way than any machine is slow, and not long for a reader."""

    linger_s = 20.0
    stuck_s = 0.2


class Application:
    """Answers "ok"; `/large` with more than a socket holds, `/waits` once it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.asked = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        if scope["path"] == "/waits":
            await self.may_answer.wait()
        body = b"x" * 40_000_000 if scope["path"] == "/large" else b"ok"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


class Held(Server):
    """A server whose stop a test begins: `meanwhile` is called when its loop has turned for the last time."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    async def main_loop(self) -> None:
        await super().main_loop()
        self.meanwhile()


@asynccontextmanager
async def serving(app: Application, protocol: type[BoundedProtocol] = Lingering) -> AsyncIterator[tuple[Held, int]]:
    """A server without a limit on how long its stop may take; leaving waits for that stop."""
    config = uvicorn.Config(app, http=protocol, lifespan="off", log_config=None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Held(config, on_start=lambda: None, on_stop=lambda: None)
        task = asyncio.create_task(server._serve([listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        yield server, listening.getsockname()[1]
        await asyncio.wait_for(task, 60)


async def test_a_request_under_way_on_an_unused_connection_is_answered_and_is_the_last_one() -> None:
    async with serving(Application()) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        assert b"connection: close" not in await reader.readuntil(b"ok")
        server.handle_exit(signal.SIGTERM, None)
        while server.servers[0].is_serving():
            await asyncio.sleep(0.01)

        writer.write(REQUEST)

        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close" in answer
        assert answer.endswith(b"\r\n\r\nok")
        writer.close()


async def test_a_request_that_is_being_answered_is_waited_for() -> None:
    app = Application()
    async with serving(app) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST.replace(b"/ ", b"/waits ", 1))
        while not app.asked:
            await asyncio.sleep(0.01)
        server.handle_exit(signal.SIGTERM, None)
        while server.servers[0].is_serving():
            await asyncio.sleep(0.01)

        app.may_answer.set()

        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close" in answer
        writer.close()


async def test_whoever_the_kernel_let_in_is_answered_although_nobody_had_accepted_the_connection() -> None:
    async with serving(Application()) as (server, port):
        late = socket.socket()

        def connect() -> None:
            """Nothing else runs between this and the end of the listening socket."""
            late.connect(("127.0.0.1", port))
            late.sendall(REQUEST)

        server.meanwhile = connect
        server.handle_exit(signal.SIGTERM, None)

    with late:
        late.settimeout(10)
        answer = b"".join(iter(lambda: late.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer


async def test_an_unused_connection_does_not_hold_the_stop() -> None:
    async with serving(Application(), BoundedProtocol) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        await reader.readuntil(b"ok")

        server.handle_exit(signal.SIGTERM, None)

        assert await reader.read() == b""
        writer.close()


async def test_a_client_that_reads_nothing_does_not_hold_the_stop() -> None:
    async with serving(Application()) as (server, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(REQUEST.replace(b"/ ", b"/large ", 1))
            while not any(_unread(each) for each in server.server_state.connections):
                await asyncio.sleep(0.01)

            server.handle_exit(signal.SIGTERM, None)
            while server.server_state.connections:
                await asyncio.sleep(0.01)


def _unread(connection: Any) -> int:
    return int(connection.transport.get_write_buffer_size())


def test_a_server_says_that_it_stops_before_it_lets_nobody_in_any_more(
    processes: Callable[..., Process], redis_url: str
) -> None:
    port = free_port()
    environ = {
        "LEASEFORGE_AUTH_SECRET": SECRET,
        "LEASEFORGE_REDIS_URL": redis_url,
        "LEASEFORGE_API_ADDR": f"127.0.0.1:{port}",
        "LEASEFORGE_ADMIN_PASSWORD": PASSWORD,
        "LEASEFORGE_STOP_DELAY": "300",
    }
    server = processes([LEASEFORGE, "server"], env=environ)
    eventually_sync(lambda: _status(port) == 200, within_s=60)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        login = client.post("/api/auth/login", json={"username": "admin", "password": PASSWORD}).json()
        client.headers["Authorization"] = f"Bearer {login['access_token']}"

        server.signal(signal.SIGTERM)
        eventually_sync(lambda: _status(port) == 503)

        told = client.get("/ready")
        assert (told.status_code, told.json()) == (503, {"status": "stopping", "redis": "ok"})
        made = client.post("/api/jobs", json={"type": "echo"})
        assert (made.status_code, made.headers["connection"]) == (201, "close")
        assert client.get("/livez").status_code == 200
    server.signal(signal.SIGTERM)

    assert server.wait() == 0


def _status(port: int) -> int:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/ready").status_code
    except httpx.TransportError:
        return 0
