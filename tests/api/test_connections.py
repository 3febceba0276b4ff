"""Connections that take their time, or send what is no request, on a real socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from leaseforge_api.connections import MAX_HEAD_BYTES, MAX_HEADERS, BoundedProtocol

# More than the buffers of a loopback connection ever hold.
BODY = b"x" * 64_000_000


class Impatient(BoundedProtocol):
    """The same with limits a test can wait for."""

    head_s = 0.3
    body_s = 0.3
    unread_s = 0.3


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Reads the body, answers a large one."""
    assert scope["type"] == "http"
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": BODY if scope["path"] == "/large" else b"ok", "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


@asynccontextmanager
async def serving(protocol: type[BoundedProtocol]) -> AsyncIterator[int]:
    config = uvicorn.Config(application, http=protocol, lifespan="off", log_config=None, port=0, timeout_keep_alive=60)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]  # older releases have it
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await task


async def told(reader: asyncio.StreamReader) -> bytes:
    """Everything until the server cuts the connection."""
    parts = []
    try:
        while part := await reader.read(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


async def test_a_request_that_comes_byte_by_byte_is_given_up() -> None:
    async with serving(Impatient) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sending = asyncio.create_task(_drip(writer, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"y" * 1000))

        answer = await told(reader)

        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"content-security-policy" in answer
        sending.cancel()
        writer.close()


async def _drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    for byte in data:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.02)


async def test_a_connection_that_says_nothing_is_given_up() -> None:
    async with serving(Impatient) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        assert (await told(reader)).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_a_body_that_never_ends_is_given_up() -> None:
    async with serving(Impatient) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")

        assert await told(reader) == b""
        writer.close()


async def test_an_answer_nobody_reads_is_given_up() -> None:
    async with serving(Impatient) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(1.5)

        assert len(await told(reader)) < len(BODY)
        writer.close()


@pytest.mark.parametrize(
    "head",
    [
        b"X-Large: " + b"y" * (MAX_HEAD_BYTES + 1) + b"\r\n",
        b"X-Many: y\r\n" * (MAX_HEADERS + 1),
        b"".join(b"X-%d: %s\r\n" % (number, b"y" * 1000) for number in range(90)),
        b"X-Endless: " + b"y" * (MAX_HEAD_BYTES * 2),
    ],
    ids=["one large", "many", "much together", "without end"],
)
async def test_headers_are_bounded(head: bytes) -> None:
    async with serving(BoundedProtocol) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + head)

        assert (await told(reader)).startswith(b"HTTP/1.1 431 ")
        writer.close()


async def test_what_is_no_http_is_refused_with_the_headers_of_every_answer() -> None:
    async with serving(BoundedProtocol) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01 hello\r\n\r\n")

        answer = await told(reader)

        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"x-content-type-options: nosniff" in answer
        writer.close()


async def test_patient_clients_are_served_again_and_again_on_one_connection() -> None:
    async with serving(BoundedProtocol) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(200):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + b"{" * 1000)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            await reader.readuntil(b"ok\r\n0\r\n\r\n")
        writer.close()
