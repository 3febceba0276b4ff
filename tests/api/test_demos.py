"""The five-minute tours of the two forerunners, told once more to a real server and a real worker."""

import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.support import Process, eventually_sync, free_port

PASSWORD = "a password for this test"

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def own_redis(server: Any) -> str:
    """A database of this file's own."""
    url: str = server.clean_database()
    return url


class Site:
    """A server and a worker as processes of their own, and an operator's client."""

    def __init__(self, start: Callable[..., Process], redis_url: str) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.worker_url = f"http://127.0.0.1:{free_port()}"
        self._start = start
        self._env = {
            "LEASEFORGE_REDIS_URL": redis_url,
            "LEASEFORGE_AUTH_SECRET": "for-this-test-only-and-no-secret-of-anything",
            "LEASEFORGE_ADMIN_PASSWORD": PASSWORD,
            "LEASEFORGE_API_ADDR": self.url.removeprefix("http://"),
            "LEASEFORGE_METRICS_ADDR": self.worker_url.removeprefix("http://"),
            "LEASEFORGE_BACKOFF_BASE": "0.1",
        }
        self.server = self._run("server")
        self.http = httpx.Client(base_url=self.url, timeout=30)

    def _run(self, *words: str) -> Process:
        command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", *words]
        return self._start(command, env=self._env)

    def start_worker(self, concurrency: int = 4) -> Process:
        """A worker with the demo tasks, on every queue."""
        return self._run("worker", "--demo", "--queues", "*", "--concurrency", str(concurrency))

    def ask(self, path: str, *, status: int = 200, method: str = "GET", **sent: Any) -> httpx.Response:
        """One request as the logged-in operator, which must be answered with `status`."""
        answer = self.http.request(method, path, **sent)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def log_in(self) -> None:
        login = {"username": "admin", "password": PASSWORD}
        token = self.ask("/api/auth/login", method="POST", json=login).json()["access_token"]
        self.http.headers["Authorization"] = f"Bearer {token}"

    def is_ready(self, url: str) -> bool:
        try:
            return bool(httpx.get(f"{url}/ready", timeout=5).json() == {"status": "ready", "redis": "ok"})
        except httpx.HTTPError:
            return False

    def wait_for(self, path: str, **wanted: Any) -> dict[str, Any]:
        """What is at `path`, once these fields have these values."""

        def seen() -> dict[str, Any] | None:
            found: dict[str, Any] = self.ask(path).json()
            return found if {name: found.get(name) for name in wanted} == wanted else None

        shown = eventually_sync(seen, within_s=60)
        assert shown is not None
        return shown


@pytest.fixture
def site(processes: Callable[..., Process], own_redis: str) -> Iterator[Site]:
    site = Site(processes, own_redis)
    eventually_sync(lambda: site.is_ready(site.url), within_s=60)
    site.log_in()
    yield site
    site.http.close()


def test_taskforges_five_minutes(site: Site) -> None:
    worker = site.start_worker()
    eventually_sync(lambda: site.is_ready(site.worker_url), within_s=60)
    assert site.ask("/health").json() == {"status": "ok", "redis": "ok"}

    taken = site.ask("/enqueue", method="POST", json={"type": "generate_pdf", "priority": 5, "payload": {}})
    job_id = taken.headers["x-job-id"]
    done = site.wait_for(f"/jobs/{job_id}", status="completed")
    assert (done["type"], done["priority"], done["attempts"], done["max_retries"]) == ("generate_pdf", 5, 1, 3)
    site.server.wait_for_output(job_id)
    assert "job_enqueued" in site.server.output()
    assert "leaseforge_" in httpx.get(f"{site.worker_url}/metrics", timeout=10).text

    unsupported = {"type": "unsupported", "max_retries": 2, "payload": {}}
    failing = site.ask("/enqueue", method="POST", json=unsupported).headers["x-job-id"]
    dead = site.wait_for(f"/jobs/{failing}", status="dead")
    assert (dead["attempts"], bool(dead["error"])) == (2, True)
    assert [job["id"] for job in site.ask("/dlq").json()] == [failing]
    replayed = site.ask(f"/dlq/{failing}/retry", method="POST").json()
    # The worker may have it already.
    assert (replayed["id"], replayed["status"] in ("pending", "processing", "retrying")) == (failing, True)
    site.wait_for(f"/jobs/{failing}", status="dead", attempts=2)
    site.ask(f"/dlq/{job_id}/retry", method="POST", status=409)

    worker.signal(signal.SIGTERM)
    assert worker.wait(within_s=60) == 0
    nap = {"type": "sleep", "payload": {"duration_ms": 50}}
    ids = [
        site.ask("/enqueue", method="POST", json=nap | {"priority": priority}).headers["x-job-id"]
        for priority in (0, -5, 10, 5)
    ]
    worker = site.start_worker(concurrency=1)
    ended = [site.wait_for(f"/jobs/{one}", status="completed") for one in ids]
    assert [job["priority"] for job in sorted(ended, key=lambda job: str(job["completed_at"]))] == [10, 5, 0, -5]
    worker.signal(signal.SIGTERM)
    assert worker.wait(within_s=60) == 0


def test_forgequeues_whole_console_api(site: Site) -> None:
    def counts(queue: str) -> dict[str, int]:
        found: dict[str, int] = site.ask(f"/api/queues/{queue}").json()["counts"]
        return found

    def post(path: str, status: int = 200, **body: Any) -> Any:
        return site.ask(path, method="POST", status=status, json=body).json()

    assert site.ask("/api/auth/config").json()["password"] is True
    assert site.ask("/api/auth/me").json()["username"] == "admin"
    assert "version" in site.ask("/api/system/version").json()

    # Nobody works yet: what is enqueued stays where it is.
    echo = post("/api/jobs", 201, type="echo", payload={"to": "a@b.com"}, queue="mail")["id"]
    doomed = post("/api/jobs", 201, type="fail", queue="mail", max_attempts=1)["id"]
    later, never = (post("/api/jobs", 201, type="echo", queue="mail", delay_seconds=3600)["id"] for _ in range(2))
    assert [queue["name"] for queue in site.ask("/api/queues").json()["items"]] == ["mail"]
    listed = site.ask("/api/queues/mail/jobs").json()["items"]
    assert [job["id"] for job in listed] == [echo, doomed]
    assert [job["id"] for job in site.ask("/api/delayed").json()["items"]] == [later, never]
    assert site.ask("/api/system/stats").json()["enqueued"] == 4
    assert post("/api/queues/mail/pause", reason="printer on fire")["paused"] is True

    worker = site.start_worker()
    [shown] = eventually_sync(lambda: site.ask("/api/workers").json()["items"], within_s=60)
    assert site.ask(f"/api/workers/{shown['id']}").json()["slots"] == 4
    assert (counts("mail")["ready"], counts("mail")["running"]) == (2, 0)
    post("/api/queues/mail/resume")
    site.wait_for(f"/api/jobs/{echo}", status="completed")
    site.wait_for(f"/api/jobs/{doomed}", status="dead")

    assert post(f"/api/delayed/{later}/promote")["id"] == later
    site.wait_for(f"/api/jobs/{later}", status="completed")
    site.ask(f"/api/delayed/{never}", method="DELETE", status=204)
    assert site.ask(f"/api/jobs/{never}").json()["status"] == "cancelled"
    post(f"/api/jobs/{echo}/requeue")
    site.wait_for(f"/api/jobs/{echo}", status="completed", replays=1)

    assert [job["id"] for job in site.ask("/api/dlq").json()["items"]] == [doomed]
    post(f"/api/dlq/{doomed}/retry")
    site.wait_for(f"/api/jobs/{doomed}", status="dead", replays=1)
    post(f"/api/jobs/{doomed}/retry")
    site.wait_for(f"/api/jobs/{doomed}", status="dead", replays=2)
    site.ask(f"/api/dlq/{doomed}", method="DELETE", status=204)
    for _ in range(2):
        post("/api/jobs", 201, type="fail", queue="reports", max_attempts=1)
    eventually_sync(lambda: site.ask("/api/dlq").json()["total"] == 2, within_s=60)
    assert post("/api/dlq/purge") == {"removed": 2}

    post("/api/queues/mail/pause")
    post("/api/jobs", 201, type="echo", queue="mail")
    assert post("/api/queues/mail/purge") == {"removed": 1}
    site.ask(f"/api/jobs/{echo}", method="DELETE", status=204)
    site.ask(f"/api/jobs/{echo}", status=404)
    points = site.ask("/api/metrics/throughput", params={"queue": "mail"}).json()["points"]
    assert sum(point["completed"] for point in points) == 3

    assert post(f"/api/workers/{shown['id']}/stop", 202, reason="the tour is over")["id"] == shown["id"]
    assert worker.wait(within_s=60) == 0
