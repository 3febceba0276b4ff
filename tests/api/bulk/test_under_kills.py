"""A bulk operation whose server, or whose Redis, is killed in the middle: each job is acted on once all the same."""

import signal
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from leaseforge import exchanges, operations
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.keys import queue_key
from leaseforge.requests import new_job
from leaseforge.store import SyncStore, connect_sync
from tests.api.conftest import PASSWORD, SECRET
from tests.faults.servers import FaultyServer
from tests.support import Process, eventually_sync, free_port

LEASEFORGE = Path(sys.executable).with_name("leaseforge")
JOBS = 1000
RATE = 250


@dataclass(frozen=True)
class Server:
    """A server process and where it answers."""

    process: Process
    url: str


Start = Callable[[str], Server]


@pytest.fixture
def start(processes: Callable[..., Process]) -> Start:
    """Starts a server on the Redis at this URL."""

    def started(redis_url: str) -> Server:
        port = free_port()
        environ = {
            "REDIS_URL": redis_url,
            "AUTH_SECRET": SECRET,
            "ADMIN_PASSWORD": PASSWORD,
            "API_ADDR": f"127.0.0.1:{port}",
        }
        process = processes(
            [LEASEFORGE, "server"], env={f"LEASEFORGE_{name}": value for name, value in environ.items()}
        )
        server = Server(process, f"http://127.0.0.1:{port}")

        def answers() -> bool:
            process.check_running()
            try:
                return httpx.get(f"{server.url}/ready", timeout=5).status_code == 200
            except httpx.HTTPError:
                return False

        eventually_sync(answers, within_s=60)
        return server

    return started


def kill_jobs(store: SyncStore, count: int) -> list[str]:
    """So many dead jobs in the queue `mail`."""
    jobs = [new_job("echo", {}, queue="mail") for _ in range(count)]
    store.run(operations.enqueue_many(jobs))
    settlements: list[Settlement] = []
    for number in range(1, count // 200 + 2):
        exchanged = store.run(
            exchanges.exchange("mail", run_id="w1", number=number, lease_ms=60_000, want=200, settlements=settlements)
        )
        settlements = [
            Settlement(job.id, job.token, Outcome.FAIL, error_kind="Broken", permanent="told_so")
            for job in exchanged.claimed
        ]
    return [job.id for job in jobs]


class Operator:
    """Asks for one bulk retry and looks at it, on any of the servers."""

    def __init__(self, server: Server) -> None:
        login = httpx.post(f"{server.url}/api/auth/login", json={"username": "admin", "password": PASSWORD}, timeout=30)
        self.headers = {"Authorization": f"Bearer {login.json()['access_token']}"}
        body = {"action": "retry", "filter": {"queue": "mail"}, "rate_per_second": RATE}
        made = httpx.post(f"{server.url}/api/bulk", json=body, headers=self.headers, timeout=30)
        assert made.status_code == 202, made.text
        self.id = made.json()["id"]
        eventually_sync(lambda: self.look(server)["state"] == "ready", within_s=60)

    def look(self, server: Server) -> Any:
        answer = httpx.get(f"{server.url}/api/bulk/{self.id}", headers=self.headers, timeout=30)
        return answer.json() if answer.status_code == 200 else {"state": answer.status_code, "counts": {"done": 0}}

    def step(self, server: Server, verb: str) -> None:
        answer = httpx.post(f"{server.url}/api/bulk/{self.id}/{verb}", headers=self.headers, timeout=30)
        assert answer.status_code == 200, answer.text


def replays(redis_url: str, ids: list[str]) -> Counter[bytes]:
    """How many jobs were replayed how often."""
    with redis.Redis.from_url(redis_url) as raw:
        pipeline = raw.pipeline(transaction=False)
        for job_id in ids:
            pipeline.hget(queue_key("mail", f"job:{job_id}"), "replays")
        return Counter(value or b"0" for value in pipeline.execute())


def test_another_server_goes_on_when_the_one_at_work_is_killed(start: Start, redis_url: str) -> None:
    with connect_sync(redis_url) as store:
        ids = kill_jobs(store, JOBS)
    first = start(redis_url)
    operator = Operator(first)
    second = start(redis_url)  # the first one leads and goes on leading

    operator.step(second, "run")
    eventually_sync(lambda: operator.look(second)["counts"]["done"] > 0, within_s=60)
    first.process.signal(signal.SIGKILL)
    before = replays(redis_url, ids)
    eventually_sync(lambda: operator.look(second)["state"] == "done", within_s=120)

    assert 0 < before[b"1"] < JOBS
    assert replays(redis_url, ids) == {b"1": JOBS}
    counts = operator.look(second)["counts"]
    assert counts == {"total": JOBS, "done": JOBS, "skipped": {"changed": 0, "gone": 0}, "failed": {}, "left": 0}


def test_an_operation_goes_on_after_redis_and_the_server_were_killed(start: Start, tmp_path: Path) -> None:
    with FaultyServer(tmp_path / "redis") as faulty:
        with connect_sync(faulty.url) as store:
            ids = kill_jobs(store, JOBS)
        first = start(faulty.url)
        operator = Operator(first)
        operator.step(first, "run")
        eventually_sync(lambda: operator.look(first)["counts"]["done"] > 0, within_s=60)

        faulty.kill()
        first.process.signal(signal.SIGKILL)
        faulty.start()
        before = replays(faulty.url, ids)
        second = start(faulty.url)
        eventually_sync(lambda: operator.look(second)["state"] == "done", within_s=120)

        assert 0 < before[b"1"] < JOBS
        assert replays(faulty.url, ids) == {b"1": JOBS}
        assert operator.look(second)["counts"]["done"] == JOBS
