"""Two servers and three workers, one of them with two processes, and a Prometheus that scrapes them."""

import json
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
import yaml

from tests.support import OwnServer, Process, eventually_sync, free_port, start_server, unavailable

DEPLOY = Path(__file__).parents[2] / "deploy" / "observability"
PASSWORD = "correct horse battery"
SECRET = "a secret for these tests of more than thirty-two bytes"
TOKEN = "a-token-only-scrapers-know"
HTTP = httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=0))
"""One for all requests: making one takes longer than most of them."""
LOOKS = {"Authorization": f"Bearer {TOKEN}"}


def program(name: str) -> str:
    """The path of one of Prometheus' programs."""
    path = shutil.which(name)
    if path is None:
        unavailable(f"{name} is not installed (Debian: apt-get install prometheus)")
    return path


@pytest.fixture(scope="session")
def promtool() -> str:
    return program("promtool")


@dataclass(frozen=True)
class Installation:
    """What runs, and what went through it."""

    servers: Sequence[str]
    workers: Sequence[str]
    processes: Sequence[Process]
    enqueued: int
    completed: int
    retried: int
    dead: int

    def pages(self) -> dict[str, str]:
        """The page of metrics of each process, by its URL."""
        pages = {}
        for url in (*self.servers, *self.workers):
            answer = HTTP.get(f"{url}/metrics", headers=LOOKS)
            assert answer.status_code == 200, answer.text
            pages[url] = answer.text
        return pages


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    with ExitStack() as ending:
        own = start_server(folder)
        ending.callback(own.embedded.stop)
        processes: list[Process] = []

        def run(*arguments: str, **settings: str) -> str:
            """Starts a part; its URL."""
            address = f"127.0.0.1:{free_port()}"
            environ = {
                "REDIS_URL": f"redis://127.0.0.1:{own.port}/1",
                "METRICS_TOKEN": TOKEN,
                "LOG_LEVEL": "debug,uvicorn=info",
            } | {name: value.format(address=address) for name, value in settings.items()}
            argv = [sys.executable, "-P", "-m", "leaseforge_cli", *arguments]
            output = folder / f"{len(processes)}.log"
            env = {f"LEASEFORGE_{name}": value for name, value in environ.items()}
            processes.append(ending.enter_context(Process(argv, output_file=output, env=env)))
            return f"http://{address}"

        server = {"AUTH_SECRET": SECRET, "ADMIN_PASSWORD": PASSWORD, "API_ADDR": "{address}"}
        worker = {"METRICS_ADDR": "{address}", "LEASE_SECONDS": "1", "BACKOFF_BASE": "0.05", "WORKER_QUEUES": "mail"}
        servers = [run("server", **server) for _ in range(2)]
        workers = [run("worker", "--demo", **worker), run("worker", "--demo", **worker)]
        workers.append(run("worker", "--demo", "--processes", "2", **worker))
        for url, process in zip((*servers, *workers), processes, strict=True):
            eventually_sync(lambda url=url, process=process: _is_ready(url, process), within_s=90)  # type: ignore[misc]  # defaults of a lambda
        yield _used(own, servers, workers, processes)
        for process in processes:  # nobody waits for a drain
            process.signal(signal.SIGKILL)


def _is_ready(url: str, process: Process) -> bool:
    process.check_running()
    try:
        return HTTP.get(f"{url}/ready").status_code == 200
    except httpx.HTTPError:
        return False


def _used(own: OwnServer, servers: Sequence[str], workers: Sequence[str], processes: Sequence[Process]) -> Installation:
    """Jobs go in by both servers: some complete, some fail twice, some have types nobody knows, some lie in wait."""
    with redis.Redis(port=own.port) as client:
        client.config_set("maxmemory", 512 * 1024 * 1024)
    login = {"username": "admin", "password": PASSWORD}
    token = HTTP.post(f"{servers[0]}/api/auth/login", json=login).json()["access_token"]
    operator = {"Authorization": f"Bearer {token}"}

    def enqueue(server: str, jobs: Sequence[Mapping[str, Any]]) -> None:
        answer = HTTP.post(f"{server}/api/jobs/bulk", json={"jobs": jobs}, headers=operator)
        assert answer.status_code in (200, 201, 202), answer.text

    mail = {"queue": "mail", "payload": {"password": "canary-in-a-payload"}}
    enqueue(servers[0], [{"type": "echo", **mail} for _ in range(30)])
    enqueue(servers[1], [{"type": "echo", **mail} for _ in range(20)])
    enqueue(servers[1], [{"type": "sleep", "queue": "mail", "payload": {"duration_ms": 1200}} for _ in range(8)])
    enqueue(servers[0], [{"type": "fail", "queue": "mail", "max_attempts": 2, "payload": {}} for _ in range(4)])
    enqueue(servers[1], [{"type": f"made-up-{number}", "max_attempts": 1, **mail} for number in range(6)])
    enqueue(servers[0], [{"type": "echo", "queue": queue, "payload": 1} for queue in ("parked", "nobody")])
    paused = HTTP.post(f"{servers[0]}/api/queues/parked/pause", json={"reason": "a test"}, headers=operator)
    assert paused.status_code == 200, paused.text

    def is_over() -> bool:
        counts = HTTP.get(f"{servers[0]}/api/queues/mail", headers=operator).json()["counts"]
        return bool(counts["completed"] == 58 and counts["dead"] == 10)

    eventually_sync(is_over, within_s=60)
    return Installation(servers, workers, processes, enqueued=70, completed=58, retried=4, dead=10)


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus."""

    url: str

    def ask(self, path: str, **parameters: str) -> Any:
        answer = HTTP.get(f"{self.url}/api/v1/{path}", params=parameters).json()
        assert answer["status"] == "success", (parameters, answer)
        return answer["data"]

    def query(self, expression: str) -> list[Mapping[str, Any]]:
        """The samples an expression yields now."""
        found: list[Mapping[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def number(self, expression: str) -> float | None:
        """The one value an expression yields now, or None for none."""
        found = self.query(expression)
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else None


@pytest.fixture(scope="session")
def prometheus(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """The sample configuration with our targets, a token, and shorter intervals."""
    folder = tmp_path_factory.mktemp("prometheus")
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(DEPLOY / "prometheus" / "rules" / "*.yml")]
    (folder / "token").write_text(TOKEN)
    urls = {"leaseforge-server": installation.servers, "leaseforge-worker": installation.workers}
    for job in config["scrape_configs"]:
        job["static_configs"] = [{"targets": [url.removeprefix("http://") for url in urls[job["job_name"]]]}]
        job["authorization"] = {"credentials_file": str(folder / "token")}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    url = f"http://127.0.0.1:{free_port()}"
    argv = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={url.removeprefix('http://')}",
        "--log.level=warn",
    ]
    with Process(argv, output_file=folder / "output.log") as process:
        running = Prometheus(url)

        def is_scraping() -> bool:
            process.check_running()
            try:
                # Rates need a few samples of everything.
                return (running.number("count(count_over_time(up[1m]) >= 3)") or 0) == len(installation.processes)
            except (httpx.HTTPError, json.JSONDecodeError):  # it is starting
                return False

        eventually_sync(is_scraping, within_s=60)
        yield running
