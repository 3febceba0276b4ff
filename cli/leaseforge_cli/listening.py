"""The address a server is to listen on: whether it is free, how a browser reaches it, whether it answers."""

import asyncio
import errno
import socket

from leaseforge_cli.exits import CommandFailed, ExitCode

EVERY_INTERFACE = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not bound to


def check_free(address: tuple[str, int]) -> None:
    """Raise CommandFailed when somebody listens there already or the address is not this machine's."""
    host, port = address
    try:
        _bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandFailed(
                f"port {port} is in use: stop the program that listens on {host}:{port}, "
                f"or choose another address (LEASEFORGE_API_ADDR=127.0.0.1:{port + 1})",
                ExitCode.ADDRESS_IN_USE,
            ) from error
        raise CommandFailed(
            f"cannot listen on {host}:{port}: {error.strerror}; see LEASEFORGE_API_ADDR", ExitCode.SETTINGS
        ) from error


def is_free(address: tuple[str, int]) -> bool:
    """Whether somebody could listen there now."""
    try:
        _bind(address)
    except OSError:
        return False
    return True


def _bind(address: tuple[str, int]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


def local_url(address: tuple[str, int]) -> str:
    """The http URL under which this machine's own browser reaches the address."""
    host, port = address
    if host in EVERY_INTERFACE:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def wait_until_ready(address: tuple[str, int], root_path: str = "") -> None:
    """Wait until `GET /ready` answers 200 there. No deadline: whoever starts the server sees it end."""
    while True:
        try:
            async with asyncio.timeout(2.0):
                if await _status(address, root_path) == 200:
                    return
        except (OSError, TimeoutError):
            pass
        await asyncio.sleep(0.1)


async def _status(address: tuple[str, int], root_path: str) -> int:
    host, port = address
    reader, writer = await asyncio.open_connection("127.0.0.1" if host in EVERY_INTERFACE else host, port)
    try:
        writer.write(f"GET {root_path.rstrip('/')}/ready HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        line = (await reader.readline()).split()
        return int(line[1]) if len(line) > 1 and line[1].isdigit() else 0
    finally:
        writer.close()
