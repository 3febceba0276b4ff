"""A collector, and real server and worker processes that send it their spans."""

import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import OwnServer, Process, eventually_sync, free_port
from tests.tracing.collector import Collector, Seen, a_collector

LEASEFORGE = (sys.executable, "-c", "from leaseforge_cli.main import main; main()")
ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery"
TASKS = "tests.tracing.tasks"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "100"}


@pytest.fixture(scope="session")
def collector() -> Iterator[Collector]:
    with a_collector() as made:
        yield made


@dataclass(frozen=True)
class Caller:
    """Somebody whose trace the jobs go on in: a context of its own for each."""

    traceparent: str

    @property
    def trace_id(self) -> str:
        return self.traceparent[3:35]

    @property
    def span_id(self) -> str:
        return self.traceparent[36:52]


def a_caller(*, sampled: bool = True) -> Caller:
    return Caller(f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-{int(sampled):02x}")


class Installation:
    """A server process and what it takes to start workers: over gRPC the server sends its spans, workers over HTTP."""

    def __init__(self, redis_url: str, collector: Collector, folder: Path) -> None:
        self.redis_url = redis_url
        self.collector = collector
        self.folder = folder
        port = free_port()
        self._started = 0
        self.server = self.start(
            "server",
            LEASEFORGE_AUTH_SECRET="for-this-test-only-and-no-secret-of-anything",
            LEASEFORGE_API_ADDR=f"127.0.0.1:{port}",
            LEASEFORGE_ADMIN_PASSWORD=PASSWORD,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.grpc_endpoint,
            OTEL_EXPORTER_OTLP_HEADERS="x-tenant=ours",
        )
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20)

        def logs_in() -> bool:
            self.server.check_running()
            try:
                answer = self.http.post("/api/auth/login", json={"username": "admin", "password": PASSWORD})
            except httpx.TransportError:
                return False
            self.http.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
            return True

        eventually_sync(logs_in, within_s=60)

    def start(self, *argv: str, **env: str) -> Process:
        self._started += 1
        settings = {"LEASEFORGE_REDIS_URL": self.redis_url, "OTEL_TRACING_ENABLED": "true", **SOON, **env}
        log = self.folder / f"{argv[0]}-{self._started}.log"
        return Process(["nice", *LEASEFORGE, *argv], output_file=log, env=settings, cwd=ROOT)

    def worker(self, **env: str) -> Process:
        process = self.start(
            "worker",
            TASKS,
            "--queues=*",
            "--lease=2",
            "--metrics-addr=off",
            **{"OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.http_endpoint, "LEASEFORGE_LOG_LEVEL": "debug", **env},
        )
        process.wait_for_output("worker_started", within_s=90)
        return process

    def enqueue(self, caller: Caller | None, type: str, payload: Any = None, **fields: Any) -> dict[str, Any]:
        headers = {"traceparent": caller.traceparent, "tracestate": "vendor=1"} if caller else {}
        answer = self.http.post("/api/jobs", json={"type": type, "payload": payload, **fields}, headers=headers)
        assert answer.status_code == 201, answer.text
        job: dict[str, Any] = answer.json()
        return job

    def job(self, job_id: str) -> dict[str, Any]:
        job: dict[str, Any] = self.http.get(f"/api/jobs/{job_id}").json()
        return job

    def await_state(self, job_id: str, state: str) -> None:
        eventually_sync(lambda: self.job(job_id).get("status") == state, within_s=40)

    def end(self) -> None:
        self.http.close()
        self.server.end()


@pytest.fixture(scope="session")
def installation(
    server: OwnServer, collector: Collector, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    made = Installation(server.clean_database(), collector, tmp_path_factory.mktemp("tracing"))
    yield made
    made.end()


@pytest.fixture
def workers(installation: Installation) -> Iterator[Callable[..., Process]]:
    """Starts workers that end with the test."""
    started: list[Process] = []

    def start(**env: str) -> Process:
        started.append(installation.worker(**env))
        return started[-1]

    yield start
    for process in started:
        process.end()


def check_connected(spans: list[Seen], root: str, *, but: tuple[str, ...] = ()) -> None:
    """One tree: each span's parent is the caller's or another of the trace. `but`: parents that died unsent."""
    known = {span.span_id for span in spans} | {root, *but}
    loose = [(span.name, span.parent_id) for span in spans if span.parent_id not in known]
    assert not loose, loose
