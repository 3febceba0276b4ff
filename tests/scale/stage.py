"""A Redis of its own, filled, and server processes in front of it as the command line starts them."""

import contextlib
import http.client
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import redis

from leaseforge.store import SyncStore, connect_sync
from tests.scale.populating import Population, is_populated, populate
from tests.support.cluster import server_binary, start_low
from tests.support.processes import Process
from tests.support.waiting import free_port

SECRET = "for measuring only and no secret of anything"
USER = "chief"
PASSWORD = "for measuring only"
_UP_WITHIN_S = 60.0
_KEPT_S = 2.0


class Stage:
    """One Redis at `url`; servers are started on it and end with the stage."""

    def __init__(self, url: str, folder: Path, stack: ExitStack) -> None:
        self.url = url
        self.folder = folder
        self.raw: Any = stack.enter_context(redis.Redis.from_url(url))
        self.store: SyncStore = stack.enter_context(connect_sync(url, retry_s=60))
        self._stack = stack
        self._servers = 0

    def start_server(self, **environ: str) -> "Server":
        """One more server process."""
        self._servers += 1
        server = Server(self.url, self.folder / f"server-{self._servers}.log", environ)
        self._stack.callback(server.process.end)
        server.wait_until_up()
        return server


class Server:
    """One server process."""

    def __init__(self, url: str, log: Path, environ: dict[str, str]) -> None:
        self.port = free_port()
        settings: dict[str, str | None] = {name: None for name in os.environ if name.startswith("LEASEFORGE_")}
        settings |= {
            "LEASEFORGE_REDIS_URL": url,
            "LEASEFORGE_AUTH_SECRET": SECRET,
            "LEASEFORGE_ADMIN_USER": USER,
            "LEASEFORGE_ADMIN_PASSWORD": PASSWORD,
            "LEASEFORGE_API_ADDR": f"127.0.0.1:{self.port}",
            **environ,
        }
        self._token = ""
        self.process = Process([sys.executable, "-m", "leaseforge_cli", "server"], output_file=log, env=settings)

    def wait_until_up(self) -> None:
        """Waits until it is ready."""
        deadline = time.monotonic() + _UP_WITHIN_S
        while True:
            self.process.check_running()
            with contextlib.suppress(OSError, http.client.HTTPException), Caller(self.port) as caller:
                caller.ask("GET", "/ready")
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"the server did not come up:\n{self.process.output()}")
            time.sleep(0.1)

    def login(self) -> "Caller":
        """Somebody who may do everything: one login a server, however many callers."""
        if not self._token:
            with Caller(self.port) as caller:
                body = caller.ask("POST", "/api/auth/login", {"username": USER, "password": PASSWORD})
            self._token = body["access_token"]
        return Caller(self.port, self._token)


class Caller:
    """One connection that stays open while it is used. `took_ms` is how long the last answer took, to its last byte."""

    def __init__(self, port: int, token: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._used_at = 0.0
        self.took_ms = 0.0

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Sends a request and reads the JSON of its answer. Raises Refused for one of 400 and above."""
        content = None if body is None else json.dumps(body).encode()
        if time.perf_counter() - self._used_at > _KEPT_S:
            self._connection.close()  # the server may be about to do the same
            self._connection.connect()
        started = time.perf_counter()
        self._connection.request(method, path, content, self._headers)
        answer = self._connection.getresponse()
        raw = answer.read()
        self._used_at = time.perf_counter()
        self.took_ms = (self._used_at - started) * 1000
        if answer.status >= 400:
            raise Refused(f"{method} {path}: {answer.status} {raw[:300]!r}")
        return json.loads(raw) if raw else None

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Refused(Exception):
    """A request was not answered as it had to be."""


@contextmanager
def staged(server: str, population: Population | None, *, url: str | None = None) -> Iterator[Stage]:
    """A stage on a fresh `server` (embedded, redis), or on the one at `url`, filled unless it is already."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leaseforge-scale-")))
        if url is None:
            own = start_low(folder, server_binary(server))
            stack.callback(own.stop)
            url = own.url
        stage = Stage(url, folder, stack)
        if population is not None and not is_populated(stage.raw):
            started = time.monotonic()
            populate(stage.store, stage.raw, population)
            memory = stage.raw.info("memory")["used_memory"]
            print(
                f"{population.jobs:,} jobs in {population.queues} queues, {population.workers} workers: filled in "
                f"{time.monotonic() - started:.0f} s, {memory / 2**20:,.0f} MiB",
                flush=True,
            )
        yield stage
