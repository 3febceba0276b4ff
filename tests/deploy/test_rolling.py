"""Two servers behind a proxy and three workers on one Redis, all of them restarted one by one under load.

No request fails that its sender may not send again, and every job that was accepted ends once.
"""

import json
import signal
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from leaseforge import reads
from leaseforge.errors import QueueNotFound
from leaseforge.jobs import JobState
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from tests.api.conftest import PASSWORD, SECRET
from tests.deploy.caddy import caddy
from tests.deploy.nginx import nginx
from tests.deploy.proxies import Proxy, StartProxy
from tests.deploy.traefik import traefik
from tests.faults.audit import audit
from tests.support import Process, eventually_sync, free_port

LEASEFORGE = Path(sys.executable).with_name("leaseforge")
QUEUE = "rolling"

StartProcess = Callable[..., Process]


@dataclass
class Installation:
    """Servers by their port and workers by their number, each of which can be started anew."""

    start: StartProcess
    redis_url: str
    stop_delay: str
    servers: dict[int, Process] = field(default_factory=dict)
    workers: dict[int, Process] = field(default_factory=dict)

    def serve(self, port: int) -> None:
        """Starts the server at a port."""
        self.servers[port] = self.start(
            [LEASEFORGE, "server"],
            env={
                "LEASEFORGE_AUTH_SECRET": SECRET,
                "LEASEFORGE_ADMIN_PASSWORD": PASSWORD,
                "LEASEFORGE_REDIS_URL": self.redis_url,
                "LEASEFORGE_API_ADDR": f"127.0.0.1:{port}",
                "LEASEFORGE_TRUSTED_PROXIES": "127.0.0.1",
                "LEASEFORGE_WEB_URL": "https://localhost",
                "LEASEFORGE_LOG_LEVEL": "warning,api=info",
                "LEASEFORGE_STOP_DELAY": self.stop_delay,
            },
        )

    def work(self, number: int) -> None:
        """Starts a worker with the demo tasks."""
        self.workers[number] = self.start(
            [LEASEFORGE, "worker", "--demo", "--queues", QUEUE, "--lease", "60", "--drain", "60"],
            env={
                "LEASEFORGE_REDIS_URL": self.redis_url,
                "LEASEFORGE_METRICS_ADDR": "off",
                "LEASEFORGE_BACKOFF_CAP": "0.2",
            },
        )

    def wait(self) -> None:
        """Until all are there."""
        for port in self.servers:
            eventually_sync(partial(self._is_ready, port), within_s=120, every_s=0.1)
        for worker in self.workers.values():
            worker.wait_for_output("worker_started", within_s=120)

    def restart_servers(self) -> None:
        """One after the other, in order."""
        for port, server in list(self.servers.items()):
            self._end(server)
            self.serve(port)
            eventually_sync(partial(self._is_ready, port), within_s=120, every_s=0.1)

    def restart_workers(self) -> None:
        """One after the other, in order."""
        for number, worker in list(self.workers.items()):
            self._end(worker)
            self.work(number)
            self.workers[number].wait_for_output("worker_started", within_s=120)

    def _end(self, process: Process) -> None:
        process.end(within_s=120)
        assert process.returncode == 0, process.output()

    def _is_ready(self, port: int) -> bool:
        self.servers[port].check_running()
        try:
            return httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200
        except httpx.TransportError:
            return False


class Impatient(threading.Thread):
    """A program that submits jobs without a key and asks for them, never repeats, and remembers what went wrong."""

    def __init__(self, proxy: Proxy, token: str, trust: ssl.SSLContext) -> None:
        super().__init__(daemon=True)
        self.made = 0
        self.problems: list[str] = []
        self._enough = threading.Event()
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(base_url=proxy.url, verify=trust, headers=headers, timeout=60)

    def run(self) -> None:
        """Goes on until told to stop."""
        with self._client as client:
            while not self._enough.wait(0.02):
                try:
                    answer = client.post("/api/jobs", json={"type": "echo", "queue": QUEUE, "tags": ["impatient"]})
                    if answer.status_code == 201:
                        self.made += 1
                        answer = client.get(f"/api/jobs/{answer.json()['id']}")
                    if answer.status_code not in (200, 201):
                        self.problems.append(f"{answer.request.method}: {answer.status_code} {answer.text[:200]}")
                except httpx.HTTPError as error:
                    self.problems.append(repr(error))

    def stop(self) -> None:
        """Ends it after the request under way."""
        self._enough.set()
        self.join(90)


def _roll(
    processes: StartProcess,
    redis_url: str,
    store: SyncStore,
    folder: Path,
    *,
    rate: int,
    rounds: int,
    weights: str,
    start_proxy: StartProxy = nginx,
    stop_delay: str = "0",
) -> None:
    installation = Installation(processes, redis_url, stop_delay)
    for port in (free_port(), free_port()):
        installation.serve(port)
    for number in range(3):
        installation.work(number)
    with start_proxy(folder / "proxy", list(installation.servers)) as proxy:
        installation.wait()
        trust = ssl.create_default_context(cafile=str(proxy.ca_file))
        token = _log_in(proxy, trust)
        impatient = Impatient(proxy, token, trust)
        generator = _start_load(processes, proxy, token, folder, f"-rate {rate} {weights}")
        impatient.start()
        _wait_for_load(generator, store)
        with ThreadPoolExecutor() as hands:
            for _ in range(rounds):
                rolled = [hands.submit(installation.restart_servers), hands.submit(installation.restart_workers)]
                for each in rolled:
                    each.result()
        impatient.stop()
        told = _interrupt(generator)

    assert impatient.problems == []
    assert told["errors"] == {}
    assert told["requests"] == told["stored"]
    by_kind = Counter(told["stored_by_kind"])
    ended = {JobState.COMPLETED: impatient.made + told["stored"] - by_kind["fail"], JobState.DEAD: by_kind["fail"]}
    eventually_sync(lambda: _counts(store) == {state: count for state, count in ended.items() if count}, within_s=120)
    assert _enqueued(store) == impatient.made + told["stored"]
    for worker in installation.workers.values():
        worker.end(within_s=120)
    [queue] = audit(redis_url).values()
    # No lease ended without its worker: a stop that is asked for costs no job an attempt.
    assert queue.counts.get("recovered", 0) == 0


def _log_in(proxy: Proxy, trust: ssl.SSLContext) -> str:
    login = {"username": "admin", "password": PASSWORD}
    answer = httpx.post(f"{proxy.url}/api/auth/login", json=login, verify=trust, timeout=60)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def _start_load(start: StartProcess, proxy: Proxy, token: str, folder: Path, flags: str) -> Process:
    """`leaseforge loadgen` through the proxy, until it is interrupted."""
    return start(
        [LEASEFORGE, "loadgen", *f"{flags} -concurrency 4 -duration 1h -queue {QUEUE} --json".split()],
        env={
            "LEASEFORGE_API_URL": proxy.url,
            "LEASEFORGE_TOKEN": token,
            "SSL_CERT_FILE": str(proxy.ca_file),
            "XDG_CONFIG_HOME": str(folder),
        },
    )


def _wait_for_load(generator: Process, store: SyncStore) -> None:
    def has_begun() -> bool:
        generator.check_running()
        return _enqueued(store) > 20

    eventually_sync(has_begun, within_s=120)


def _interrupt(generator: Process) -> dict[str, Any]:
    """Its summary."""
    generator.signal(signal.SIGINT)
    code = generator.wait(within_s=90)
    output = generator.output()
    assert code == ExitCode.INTERRUPTED, output
    summary: dict[str, Any] = json.JSONDecoder().raw_decode(output[output.index("{") :])[0]
    return summary


def _enqueued(store: SyncStore) -> int:
    try:
        return int(store.run(reads.queue(QUEUE)).totals.get("enqueued", 0))
    except QueueNotFound:
        return 0


def _counts(store: SyncStore) -> dict[JobState, int]:
    return {JobState(state): count for state, count in store.run(reads.queue(QUEUE)).counts.items() if count}


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("start_proxy", "stop_delay"),
    [
        pytest.param(nginx, "0", id="nginx"),
        pytest.param(caddy, "5", id="caddy", marks=pytest.mark.soak),
        pytest.param(traefik, "5", id="traefik", marks=pytest.mark.soak),
    ],
)
def test_no_request_and_no_job_is_lost_when_all_are_restarted_one_by_one(
    processes: StartProcess,
    redis_url: str,
    sync_store: SyncStore,
    tmp_path: Path,
    start_proxy: StartProxy,
    stop_delay: str,
) -> None:
    weights = "-echo 80 -sleep 20 -fail 0 -delay 0 -sleep-max-ms 300"
    _roll(
        processes,
        redis_url,
        sync_store,
        tmp_path,
        rate=20,
        rounds=1,
        weights=weights,
        start_proxy=start_proxy,
        stop_delay=stop_delay,
    )


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_no_request_and_no_job_is_lost_in_many_restarts(
    processes: StartProcess, redis_url: str, sync_store: SyncStore, tmp_path: Path
) -> None:
    weights = "-echo 60 -sleep 20 -fail 12 -delay 8 -sleep-max-ms 2000"
    _roll(processes, redis_url, sync_store, tmp_path, rate=40, rounds=4, weights=weights)
