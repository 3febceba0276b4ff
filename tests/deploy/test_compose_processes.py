"""The processes of compose.yaml with its very commands, settings, secrets and Redis configuration: no containers."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from leaseforge_cli.exits import ExitCode
from tests.deploy.as_image import UID, as_image, is_confined
from tests.deploy.composition import COMPOSE, read
from tests.deploy.dockerfile import DOCKER, parse
from tests.support import Process, eventually_sync, free_port
from tests.support.servers import chosen_binary

LEASEFORGE = (sys.executable, "-P", "-m", "leaseforge_cli")
# Names the connection that tries what it must not.
DENIED = "denied"
HTTP = httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=0))


@dataclass(frozen=True)
class Running:
    """One of the processes, what it was given, and where it answers."""

    process: Process
    environ: Mapping[str, str]
    url: str


@dataclass(frozen=True)
class Installation:
    """Redis, a server and a worker as compose.yaml has them, on ports of this machine."""

    redis_port: int
    server: Running
    worker: Running
    secrets: Path

    def secret(self, name: str) -> str:
        return (self.secrets / name).read_text()

    def login(self) -> dict[str, str]:
        account = {"username": "admin", "password": self.secret("admin_password")}
        token = HTTP.post(f"{self.server.url}/api/auth/login", json=account).json()["access_token"]
        return {"Authorization": f"Bearer {token}"}

    def probe(self, part: str) -> subprocess.CompletedProcess[str]:
        """The health check of a container."""
        [_, _, *arguments] = COMPOSITION["services"][part]["healthcheck"]["test"]
        environ = {"server": self.server, "worker": self.worker}[part].environ
        argv = as_image([*LEASEFORGE, *arguments])
        return subprocess.run(
            argv, env=os.environ | dict(environ), capture_output=True, text=True, timeout=60, check=False
        )


COMPOSITION: dict[str, Any] = {}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    COMPOSITION.update(read({"LEASEFORGE_WORKER_CONCURRENCY": "3"}))
    logs = tmp_path_factory.mktemp("installation")
    with ExitStack() as ending:
        # Containers get single files mounted; here the image's user has to find them, and pytest's folders are closed.
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="leaseforge-compose-")))
        folder.chmod(0o755)
        subprocess.run(["sh", COMPOSE / "make-secrets", folder / "made"], capture_output=True, timeout=60, check=True)
        secrets = folder / "secrets"
        shutil.copytree(folder / "made", secrets)
        secrets.chmod(0o755)
        accounts = secrets / "redis_acl"
        accounts.chmod(0o644)
        # One that may read what others were denied.
        accounts.write_text(f"{accounts.read_text()}user witness on nopass -@all +acl|log\n")
        port = free_port()
        url = secrets / "redis_url"
        url.chmod(0o644)
        url.write_text(url.read_text().replace("@redis:6379", f"@127.0.0.1:{port}"))
        ending.enter_context(_redis(folder, secrets, port, logs / "redis.log"))
        server = ending.enter_context(_started("server", secrets, logs))
        worker = ending.enter_context(_started("worker", secrets, logs))
        yield Installation(port, server, worker, secrets)


def _redis(folder: Path, secrets: Path, port: int, log: Path) -> Process:
    """Redis with the mounted configuration and the container's command, but paths of this machine."""
    data = folder / "data"
    data.mkdir()
    text = (COMPOSE / "redis.conf").read_text("utf-8")
    text = text.replace("dir /data", f"dir {data}").replace("/run/secrets", str(secrets))
    (folder / "redis.conf").write_text(text)
    program, config, *options = COMPOSITION["services"]["redis"]["command"]
    assert (program, config) == ("redis-server", "/etc/redis/redis.conf")
    argv = [chosen_binary().path, folder / "redis.conf", *options, "--port", str(port), "--bind", "127.0.0.1"]
    return Process(argv, output_file=log)


class _started:
    """Starts a service's process with the image's environment and the service's own; waits until it is ready."""

    def __init__(self, name: str, secrets: Path, logs: Path) -> None:
        service = COMPOSITION["services"][name]
        image = parse((DOCKER / "Dockerfile").read_text("utf-8"))
        address = f"127.0.0.1:{free_port()}"
        environ = {key: value for key, value in image.environment(name).items() if key != "PATH"}
        environ |= {key: value.replace("/run/secrets", str(secrets)) for key, value in service["environment"].items()}
        environ |= {"TMPDIR": "/mnt", "HOME": "/nonexistent"} if is_confined() else {}
        environ["LEASEFORGE_API_ADDR" if name == "server" else "LEASEFORGE_METRICS_ADDR"] = address
        command = service.get("command") or image.command(name)[1:]
        process = Process(as_image([*LEASEFORGE, *command]), output_file=logs / f"{name}.log", env=environ)
        self._running = Running(process, environ, f"http://{address}")

    def __enter__(self) -> Running:
        self._running.process.__enter__()
        eventually_sync(self._is_ready, within_s=90)
        return self._running

    def __exit__(self, *exc: Any) -> None:
        self._running.process.__exit__(*exc)

    def _is_ready(self) -> bool:
        self._running.process.check_running()
        try:
            return HTTP.get(f"{self._running.url}/ready").status_code == 200
        except httpx.HTTPError:
            return False


def test_they_run_as_the_images_user_and_cannot_write(installation: Installation) -> None:
    if not is_confined():
        pytest.skip("this takes root and mount namespaces")
    for running in (installation.server, installation.worker):
        status = Path(f"/proc/{running.process.pid}/status").read_text()

        assert re.search(rf"^Uid:\t{UID}\t{UID}\t{UID}\t{UID}$", status, re.MULTILINE)
        assert re.search(r"^CapBnd:\t0+$", status, re.MULTILINE)
        assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
        mounts = Path(f"/proc/{running.process.pid}/mountinfo").read_text()
        assert re.search(r"^\d+ \d+ \S+ / / ro[ ,]", mounts, re.MULTILINE)


@pytest.mark.parametrize("part", ["server", "worker"])
def test_a_containers_health_check_says_ready(installation: Installation, part: str) -> None:
    ended = installation.probe(part)

    assert (ended.returncode, ended.stdout) == (ExitCode.OK, f"{part}: ready\n"), ended.stderr


def test_the_console_is_there_and_metrics_ask_for_the_token(installation: Installation) -> None:
    assert "<form" in HTTP.get(f"{installation.server.url}/console/login").text
    scrapes = {"Authorization": f"Bearer {installation.secret('metrics_token')}"}
    for running in (installation.server, installation.worker):
        assert HTTP.get(f"{running.url}/metrics").status_code == 401
        assert HTTP.get(f"{running.url}/metrics", headers=scrapes).status_code == 200


def test_jobs_run_and_redis_refuses_nothing_that_is_needed(installation: Installation) -> None:
    admin = installation.login()
    jobs = [
        {"type": "echo", "queue": "mail", "payload": "hello"},
        {"type": "generate_pdf", "queue": "reports", "payload": {"title": "Hello"}},
        {"type": "fail", "queue": "mail", "max_attempts": 1, "payload": {}},
        {"type": "echo", "queue": "mail", "payload": 1, "delay_seconds": 1, "unique_key": "once"},
    ]
    stored = HTTP.post(f"{installation.server.url}/api/jobs/bulk", json={"jobs": jobs}, headers=admin)
    assert stored.status_code == 200, stored.text

    def counts() -> tuple[int, int]:
        found = [
            HTTP.get(f"{installation.server.url}/api/queues/{queue}", headers=admin).json()["counts"]
            for queue in ("mail", "reports")
        ]
        return sum(one["completed"] for one in found), sum(one["dead"] for one in found)

    eventually_sync(lambda: counts() == (3, 1), within_s=60)
    for path in ("queues/mail/pause", "queues/mail/resume", "queues/mail/purge"):
        HTTP.post(f"{installation.server.url}/api/{path}", json={}, headers=admin).raise_for_status()
    for path in ("workers", "jobs", "queues", "dlq", "audit", "system/stats", "system/health"):
        HTTP.get(f"{installation.server.url}/api/{path}", headers=admin).raise_for_status()
    with redis.Redis(port=installation.redis_port, username="witness", password="witness") as witness:
        log = [entry for entry in witness.acl_log() if entry["username"] == "leaseforge"]
    assert [entry["object"] for entry in log if DENIED not in str(entry["client-info"])] == []


def test_redis_keeps_what_is_acknowledged_and_knows_its_accounts(installation: Installation) -> None:
    url = installation.secret("redis_url")
    with redis.Redis.from_url(url, client_name=DENIED) as ours:
        told = ours.info("everything")
        assert told["aof_enabled"] == 1
        assert told["maxmemory_policy"] == "noeviction"
        assert told["maxmemory"] == 1024**3
        for denied in (("FLUSHALL",), ("CONFIG", "SET", "maxmemory", "0"), ("KEYS", "*"), ("SET", "other", "1")):
            with pytest.raises(redis.exceptions.NoPermissionError):
                ours.execute_command(*denied)
    with (
        redis.Redis(port=installation.redis_port) as nobody,
        pytest.raises(redis.exceptions.AuthenticationError),
    ):
        nobody.ping()
    with redis.Redis(port=installation.redis_port, username="health", password="health") as health:
        assert health.ping() is True
        with pytest.raises(redis.exceptions.NoPermissionError):
            health.get("lf:{sys}:queues")


def test_sigterm_lets_a_worker_finish_and_the_server_leave(installation: Installation) -> None:
    """The last test of this file: nothing runs any more behind it."""
    admin = installation.login()
    nap = {"type": "sleep", "queue": "naps", "payload": {"duration_ms": 3000}}
    stored = HTTP.post(f"{installation.server.url}/api/jobs", json=nap, headers=admin).json()

    def state() -> str:
        job = HTTP.get(f"{installation.server.url}/api/jobs/{stored['id']}", headers=admin).json()
        return str(job.get("state") or job["status"])

    eventually_sync(lambda: state() == "running", within_s=30)
    installation.worker.process.signal(signal.SIGTERM)

    assert installation.worker.process.wait(within_s=60) == ExitCode.OK
    assert state() == "completed"
    installation.server.process.signal(signal.SIGTERM)
    assert installation.server.process.wait(within_s=60) == ExitCode.OK
