"""The whole product as an installation runs it: Redis, server process, worker processes."""

import json
import os
import secrets
import signal
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from leaseforge.store import SyncStore, connect_sync
from tests.support import Process, eventually_sync, free_port, start_server

ADMIN = ("admin", "an operator's long password")
VIEWER = ("vera", "a viewer's long password")
OPERATOR = ("anna", "an operator's own password")
_LEASEFORGE = Path(sys.executable).with_name("leaseforge")
_USERS = json.dumps(
    [
        {"username": VIEWER[0], "roles": ["viewer"], "password": VIEWER[1]},
        {"username": OPERATOR[0], "roles": ["operator"], "password": OPERATOR[1]},
    ]
)


@dataclass
class Product:
    """A running installation. `store` talks to its Redis directly, as a producer would."""

    url: str
    redis_url: str
    folder: Path
    store: SyncStore
    environment: Mapping[str, str]
    server: Process
    workers: list[Process] = field(default_factory=list)
    started: int = 0

    def start_worker(self, *, queues: str = "*") -> Process:
        """A worker with the demo tasks; returns once it runs."""
        self.started += 1
        worker = Process(
            [_LEASEFORGE, "worker", "--demo", "--queues", queues, "--lease", "3", "--drain", "3"],
            output_file=self.folder / f"worker-{self.started}.log",
            env={"LEASEFORGE_REDIS_URL": self.redis_url, "LEASEFORGE_METRICS_ADDR": f"127.0.0.1:{free_port()}"},
        )
        self.workers.append(worker)
        worker.wait_for_output("worker_started")
        return worker

    def stop_workers(self) -> None:
        """Drains all workers."""
        for worker in self.workers:
            worker.end()
        self.workers.clear()

    def restart_server(self) -> None:
        """Ends the server process in order and starts it again at the same address."""
        self.server.end()
        self.server = _start(self.folder, self.environment)
        _wait_until_alive(self.url, self.server)

    def kill_server(self) -> None:
        """The server process is gone at once."""
        self.server.signal(signal.SIGKILL)
        self.server.wait()


@contextmanager
def running(
    folder: Path,
    *,
    environment: str = "production",
    root_path: str = "",
    port: int | None = None,
    more: Mapping[str, str] | None = None,
) -> Iterator[Product]:
    """Starts Redis and the server with `more` settings, no worker; ends everything it started."""
    redis = start_server(folder)
    redis_url = redis.clean_database()
    port = port or free_port()
    settings = {
        "LEASEFORGE_REDIS_URL": redis_url,
        "LEASEFORGE_API_ADDR": f"127.0.0.1:{port}",
        "LEASEFORGE_AUTH_SECRET": secrets.token_urlsafe(48),
        "LEASEFORGE_ADMIN_USER": ADMIN[0],
        "LEASEFORGE_ADMIN_PASSWORD": ADMIN[1],
        "LEASEFORGE_USERS": _USERS,
        "LEASEFORGE_ENVIRONMENT": environment,
        "LEASEFORGE_ROOT_PATH": root_path,
        **(more or {}),
    }
    url = f"http://127.0.0.1:{port}{root_path}"
    server = _start(folder, settings)
    store = connect_sync(redis_url)
    product = Product(url, redis_url, folder, store, settings, server)
    try:
        _wait_until_alive(url, server)
        yield product
    finally:
        product.stop_workers()
        product.server.end()
        store.close()
        redis.embedded.stop()


def _start(folder: Path, settings: Mapping[str, str]) -> Process:
    clean = {name: None for name in os.environ if name.startswith("LEASEFORGE_")}
    return Process([_LEASEFORGE, "server"], output_file=folder / "server.log", env={**clean, **settings})


def _wait_until_alive(url: str, server: Process) -> None:
    def alive() -> bool:
        server.check_running()
        try:
            with urllib.request.urlopen(f"{url}/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    eventually_sync(alive, within_s=120.0, every_s=0.1)
