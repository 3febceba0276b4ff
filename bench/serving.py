"""A server process for one run, its token, and the shortest client that can speak to it.

`python -m bench.serving each` is the server without coalescing: every request makes a call of its own.
"""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bench.server import Bench, WorkloadFailed
from leaseforge.answers import Answer
from leaseforge.enqueueing import as_stored, store_jobs
from leaseforge.errors import IdempotencyConflict
from leaseforge.jobs import NewJob
from leaseforge_api import app
from leaseforge_api.coalescing import Accepted, Coalescing
from leaseforge_cli.main import main

_HOST = "127.0.0.1"
_PASSWORD = "for the benchmark only"
_COMES_UP_WITHIN_S = 60.0
_LEAVES_WITHIN_S = 30.0
_SOURCES = ("engine", "auth", "api", "console", "worker", "cli")


class Each(Coalescing):
    """Stores each job by a call of its own, all at once."""

    async def enqueue(self, job: NewJob) -> Accepted:
        """Stores one job. Raises IdempotencyConflict."""
        stored = await self._store.run(store_jobs(job.queue, [job]))
        [enqueued] = stored.jobs
        if enqueued.answer is not Answer.CREATED:
            raise IdempotencyConflict(job.idempotency_key or "", enqueued.id)
        return Accepted(enqueued.id, enqueued.queue, True, as_stored(job, stored.as_of_ms))


@dataclass(frozen=True, slots=True)
class Served:
    """A server that is up: its process, its port, and a token that may enqueue."""

    process: "subprocess.Popen[bytes]"
    port: int
    token: str

    def request(self, path: str, body: Any) -> bytes:
        """A whole POST as it goes over the wire."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {_HOST}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


@contextmanager
def serving(
    bench: Bench, *, coalesces: bool, checkout: Path | None = None, log_level: str = "warning"
) -> Iterator[Served]:
    """One server process as the command line starts it, with the code of another checkout if one is given.

    Raises WorkloadFailed if it does not come up or leave well.
    """
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port = int(probe.getsockname()[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LEASEFORGE_")} | {
        "LEASEFORGE_REDIS_URL": bench.url,
        "LEASEFORGE_AUTH_SECRET": "for the benchmark only and no secret of anything",
        "LEASEFORGE_ADMIN_PASSWORD": _PASSWORD,
        "LEASEFORGE_API_ADDR": f"{_HOST}:{port}",
        "LEASEFORGE_LOG_LEVEL": log_level,
    }
    if checkout is not None:
        environment["PYTHONPATH"] = os.pathsep.join(str(checkout / part) for part in ("", *_SOURCES))
    log = bench.folder / f"server-{port}.log"
    command = [sys.executable, "-m", "bench.serving", "together" if coalesces else "each"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=environment, cwd=checkout, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        try:
            yield Served(process, port, _token(process, port))
        except (OSError, WorkloadFailed) as error:
            raise WorkloadFailed(f"{error}: {log.read_text(errors='replace')[-600:].strip()}") from error
        finally:
            process.terminate()
            try:
                process.wait(_LEAVES_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    if process.returncode:
        raise WorkloadFailed(f"the server ended with {process.returncode}: {log.read_text(errors='replace')[-600:]}")


class Connection:
    """A connection that stays open; one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, served: Served) -> Self:
        """Connects."""
        return cls(*await asyncio.open_connection(_HOST, served.port))

    async def send(self, request: bytes) -> None:
        """Sends it and reads the answer. Raises WorkloadFailed unless that says 200 or 201."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        _, _, rest = head.partition(b"\r\ncontent-length:")
        body = await self._reader.readexactly(int(rest.partition(b"\r\n")[0]))
        if head[9:12] not in (b"200", b"201"):
            raise WorkloadFailed(f"the server answered {head[9:12].decode()}: {body[:300]!r}")

    def close(self) -> None:
        """Hangs up."""
        self._writer.close()


def _token(process: "subprocess.Popen[bytes]", port: int) -> str:
    body = json.dumps({"username": "admin", "password": _PASSWORD}).encode()
    url = f"http://{_HOST}:{port}/api/auth/login"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    deadline = time.monotonic() + _COMES_UP_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=5) as answer:
            return str(json.load(answer)["access_token"])
        time.sleep(0.1)
    raise WorkloadFailed("the server did not come up")


if __name__ == "__main__":
    if sys.argv[1] == "each":
        vars(app)["Coalescing"] = Each
    main(["server"])
