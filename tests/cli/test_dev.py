import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leaseforge import operations, reads
from leaseforge.embedded import EmbeddedServer
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.server_binary import BUNDLED, find_binary
from leaseforge.store import SyncStore, connect_sync
from leaseforge_cli.exits import ExitCode
from tests.support import Process, eventually_sync, free_port, unavailable

pytestmark = pytest.mark.timeout(240)

Start = Callable[..., Process]


@dataclass
class Development:
    """`leaseforge dev` in a folder of its own, started as often as a test wants."""

    folder: Path
    processes: Callable[..., Process]
    port: int
    started: list[Process] = field(default_factory=list)

    def start(self, *options: str, wait_for: str = "Leaseforge is running", **env: str | None) -> Process:
        settings: dict[str, str | None] = {
            "LEASEFORGE_API_ADDR": f"127.0.0.1:{self.port}",
            "LEASEFORGE_METRICS_ADDR": "127.0.0.1:0",
            "LEASEFORGE_DEMO_LOAD": "0",
        }
        command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", "dev", *options]
        started: Process = self.processes(command, cwd=self.folder, env=settings | env)
        self.started.append(started)
        if wait_for:
            started.wait_for_output(wait_for, within_s=60)
        return started

    @property
    def redis(self) -> EmbeddedServer:
        """A look at the embedded server, without starting or owning it."""
        return EmbeddedServer(self.folder / ".leaseforge" / "redis")

    @contextmanager
    def store(self) -> Iterator[SyncStore]:
        store = connect_sync(self.redis.url)
        try:
            yield store
        finally:
            store.close()

    def worker_pids(self) -> set[int]:
        with self.store() as store:
            return {worker.pid for worker in store.run(reads.workers()).items}

    def login(self, password: str) -> int:
        """The status of a login as admin."""
        body = json.dumps({"username": "admin", "password": password}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/auth/login", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code


@pytest.fixture
def development(tmp_path: Path, processes: Start) -> Iterator[Development]:
    if find_binary(BUNDLED) is None:
        unavailable("the bundled server (extra 'local') is not installed")
    folder = tmp_path / "project"
    folder.mkdir()
    made = Development(folder, processes, free_port())
    yield made
    for process in made.started:
        process.end()
    # A test that killed `dev` leaves its server up, as it should: the pid is of a server in this test's own folder.
    left = made.redis.pid
    if left is not None:
        os.kill(left, signal.SIGTERM)
        eventually_sync(lambda: made.redis.pid is None)


def password_in(output: str) -> str:
    [password] = re.findall(r"password  (\S+)   \(shown this once", output)
    return str(password)


def test_the_first_start_prints_a_login_and_lines_that_work_when_pasted(development: Development) -> None:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        unavailable("the printed lines need curl and a shell")
    output = development.start().output()

    lines = output.split("from another terminal:")[1].split("Ctrl-C")[0]
    pasted = subprocess.run(["bash", "-c", lines], capture_output=True, text=True, timeout=60, check=True)

    job = json.loads(pasted.stdout)
    assert job["type"] == "echo"
    with development.store() as store:
        eventually_sync(lambda: store.run(reads.job(job["id"])).state is JobState.COMPLETED)


def test_everything_stops_in_order_and_the_next_start_finds_data_and_login_again(development: Development) -> None:
    first = development.start()
    password = password_in(first.output())
    with development.store() as store:
        kept = store.run(operations.enqueue(new_job("sleep", {"duration_ms": 0}))).id
        eventually_sync(lambda: store.run(reads.job(kept)).state is JobState.COMPLETED)

    first.signal(signal.SIGINT)

    assert first.wait(within_s=60) == ExitCode.OK
    stopping = first.output().split("stopping: ")[1]
    assert stopping.index("worker_stopped") < stopping.index("redis stopped")
    assert development.redis.pid is None
    second = development.start()
    assert "password  as set or printed at the first start" in second.output()
    assert password not in second.output()
    assert development.login(password) == 200
    assert development.login("not the password") == 401
    with development.store() as store:
        assert store.run(reads.job(kept)).state is JobState.COMPLETED


def test_what_is_kept_is_private_and_the_password_is_not_kept(development: Development) -> None:
    development.start()

    kept = development.folder / ".leaseforge"
    assert kept.stat().st_mode & 0o077 == 0
    assert (kept / "auth-secret").stat().st_mode & 0o077 == 0
    eventually_sync(lambda: not (kept / "first-password").exists())


def test_a_killed_worker_and_a_killed_redis_are_replaced_and_every_job_ends(development: Development) -> None:
    running = development.start()
    [worker] = eventually_sync(development.worker_pids)
    with development.store() as store:
        ids = [store.run(operations.enqueue(new_job("sleep", {"duration_ms": 200}))).id for _ in range(40)]
        eventually_sync(lambda: any(store.run(reads.job(one)).state is JobState.RUNNING for one in ids))

    os.kill(worker, signal.SIGKILL)

    running.wait_for_output("worker was ended by SIGKILL; starting it again")
    eventually_sync(lambda: development.worker_pids() - {worker}, within_s=30)
    redis_pid = development.redis.pid
    assert redis_pid is not None
    os.kill(redis_pid, signal.SIGKILL)
    running.wait_for_output("redis died; starting it again on the same data")
    eventually_sync(lambda: development.redis.pid not in (None, redis_pid), within_s=30)
    with development.store() as store:

        def all_completed() -> bool:
            return all(store.run(reads.job(one)).state is JobState.COMPLETED for one in ids)

        eventually_sync(all_completed, within_s=90, every_s=0.5)
        assert {store.run(reads.job(one)).failures for one in ids} == {0}


def test_a_killed_dev_takes_its_children_along_and_the_next_start_takes_redis_over(development: Development) -> None:
    first = development.start()
    redis_pid = development.redis.pid

    first.signal(signal.SIGKILL)

    first.wait()
    eventually_sync(lambda: development.worker_pids() == set(), within_s=30)
    second = development.start()
    assert "redis runs already" in second.output()
    assert development.redis.pid == redis_pid
    second.signal(signal.SIGTERM)
    assert second.wait(within_s=60) == ExitCode.OK
    assert development.redis.pid is None


def test_a_second_signal_stops_at_once(development: Development) -> None:
    running = development.start(LEASEFORGE_DRAIN_SECONDS="600")
    with development.store() as store:
        long = store.run(operations.enqueue(new_job("sleep", {"duration_ms": 600_000}))).id
        eventually_sync(lambda: store.run(reads.job(long)).state is JobState.RUNNING)

    running.signal(signal.SIGINT)
    running.wait_for_output("stopping: the worker finishes what it runs")
    running.signal(signal.SIGTERM)

    assert running.wait(within_s=60) == ExitCode.OK
    assert "stopping at once" in running.output()


def test_one_signal_that_arrives_twice_is_no_call_for_haste(development: Development) -> None:
    running = development.start()

    running.signal(signal.SIGTERM)
    running.signal(signal.SIGTERM)

    assert running.wait(within_s=60) == ExitCode.OK
    assert "stopping at once" not in running.output()
    assert "worker_stopped" in running.output()


def test_demo_jobs_come_only_when_wanted(development: Development) -> None:
    development.start("--load")

    def made() -> bool:
        with development.store() as store:
            return sum(queue.size for queue in store.run(reads.queues())) > 5

    eventually_sync(made, within_s=30)


def test_tasks_of_ones_own_run_beside_the_demo(development: Development) -> None:
    (development.folder / "mytasks.py").write_text(
        "from leaseforge import task\n\n@task\nasync def own(ctx):\n    return 1\n"
    )
    development.start("mytasks")

    with development.store() as store:
        ids = [store.run(operations.enqueue(new_job(name, {}, queue="new"))).id for name in ("own", "echo")]
        eventually_sync(lambda: all(store.run(reads.job(one)).state is JobState.COMPLETED for one in ids), within_s=30)


def test_tasks_that_cannot_be_loaded_end_everything_with_one_clear_line(development: Development) -> None:
    failed = development.start("nowhere", wait_for="")

    assert failed.wait(within_s=60) == ExitCode.TASKS
    assert "leaseforge: no module named 'nowhere'" in failed.output()
    assert development.redis.pid is None


def test_a_given_redis_is_used_and_nothing_is_embedded(development: Development, redis_url: str) -> None:
    running = development.start(LEASEFORGE_REDIS_URL=redis_url)

    assert "redis started" not in running.output()
    assert not (development.folder / ".leaseforge" / "redis").exists()
    with_given = connect_sync(redis_url)
    try:
        eventually_sync(lambda: with_given.run(reads.workers()).items)
    finally:
        with_given.close()


def test_a_given_password_is_used_and_not_printed(development: Development) -> None:
    running = development.start(LEASEFORGE_ADMIN_PASSWORD="given-by-the-operator")

    assert "password  as set in LEASEFORGE_ADMIN_PASSWORD" in running.output()
    assert "given-by-the-operator" not in running.output()
    assert development.login("given-by-the-operator") == 200


@pytest.mark.parametrize(
    ("env", "code", "said"),
    [
        ({"LEASEFORGE_API_ADDR": "nonsense"}, ExitCode.SETTINGS, "LEASEFORGE_API_ADDR: must be host:port"),
        ({"LEASEFORGE_AUTH_SECRET": "short"}, ExitCode.SETTINGS, "LEASEFORGE_AUTH_SECRET: must be at least"),
        ({"LEASEFORGE_REDIS_URL": "http://x"}, ExitCode.SETTINGS, "LEASEFORGE_REDIS_URL: must begin with"),
        ({"LEASEFORGE_REDIS_URL": "unix:///nowhere"}, ExitCode.STORE_UNAVAILABLE, "Redis"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    development: Development, env: dict[str, str], code: ExitCode, said: str
) -> None:
    failed = development.start(wait_for="", **env)

    assert failed.wait() == code
    last = failed.output().splitlines()[-2 if "redis stopped" in failed.output() else -1]
    assert said in failed.output()
    assert "Traceback" not in failed.output()
    assert last.startswith("leaseforge: ")


def test_a_port_in_use_is_told_before_anything_is_started(development: Development) -> None:
    with socket.create_server(("127.0.0.1", development.port)):
        failed = development.start(wait_for="")

        assert failed.wait() == ExitCode.ADDRESS_IN_USE

    assert failed.output().startswith(f"leaseforge: port {development.port} is in use")
    assert failed.output().count("\n") == 1
    assert not (development.folder / ".leaseforge").exists()
