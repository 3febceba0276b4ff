"""Several worker processes under one parent, with real processes, real signals and a real server."""

import http.client
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from leaseforge import operations, reads
from leaseforge.jobs import Job, JobState
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from leaseforge.workers import WorkerInfo
from leaseforge_cli.exits import ExitCode
from tests.support import Process, eventually_sync, free_port

Start = Callable[..., Process]
STARTS_WITHIN_S = 60.0

TASKS = """
import os, time
from pathlib import Path

from leaseforge import task

@task
async def quick(ctx):
    return os.getpid()

@task
def hold(ctx):
    while not Path("gate").exists():
        time.sleep(0.02)
    return os.getpid()
"""


class Parent:
    """A `leaseforge worker --processes` and what a test asks about it."""

    def __init__(self, process: Process, port: int, store: SyncStore, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self._port = port
        self._store = store

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of its HTTP port; status 0 where nobody listens."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()

    def samples(self) -> dict[tuple[str, str, str], float]:
        """Each sample of /metrics by name, process, and its other label's value."""
        return {
            (
                sample.name,
                sample.labels.get("process", ""),
                ",".join(value for label, value in sorted(sample.labels.items()) if label != "process"),
            ): sample.value
            for family in text_string_to_metric_families(self.get("/metrics")[1])
            for sample in family.samples
        }

    def in_state(self, state: str) -> float:
        """How many processes are in this state."""
        return self.samples()["leaseforge_worker_processes", "", state]

    def wait_until_ready(self) -> None:
        """Until every process takes work."""

        def is_ready() -> bool:
            self.process.check_running()
            return self.get("/ready")[0] == 200

        eventually_sync(is_ready, within_s=STARTS_WITHIN_S)

    def wait_until_reported(self, count: int) -> None:
        """Until so many workers are in the registry: a first report follows the start."""
        eventually_sync(lambda: len(self.workers()) == count, within_s=20)

    def workers(self) -> list[WorkerInfo]:
        """The workers of the registry."""
        return list(self._store.run(reads.workers()).items)

    def pids(self) -> set[int]:
        """The processes of the registry's workers."""
        return {info.pid for info in self.workers()}

    def enqueue(self, type: str) -> str:
        """A job's id."""
        return self._store.run(operations.enqueue(new_job(type))).id

    def job(self, job_id: str) -> Job:
        """The job now."""
        return self._store.run(reads.job(job_id))

    def start_holding(self, count: int = 1) -> list[str]:
        """Jobs that run until the gate opens."""
        ids = [self.enqueue("hold") for _ in range(count)]
        eventually_sync(lambda: {self.job(job_id).state for job_id in ids} == {JobState.RUNNING}, within_s=20)
        return ids

    def open_gate(self) -> None:
        """Lets the holding jobs end."""
        (self.folder / "gate").touch()


@pytest.fixture
def command(processes: Start, tmp_path: Path, redis_url: str) -> Start:
    """Starts `leaseforge worker` in a folder with the tasks above."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mytasks.py").write_text(TASKS)

    def start(*arguments: str, **env: str | None) -> Process:
        settings = {"LEASEFORGE_REDIS_URL": redis_url, "LEASEFORGE_METRICS_ADDR": "off"}
        return processes([sys.executable, "-m", "leaseforge_cli", "worker", *arguments], cwd=folder, env=settings | env)

    return start


@pytest.fixture
def parent(command: Start, sync_store: SyncStore, tmp_path: Path) -> Callable[..., Parent]:
    """Starts a parent and waits until all of its processes take work."""

    def start(count: int, *arguments: str, **env: str | None) -> Parent:
        port = free_port()
        process = command(
            "mytasks", *arguments, "--processes", str(count), "--metrics-addr", f"127.0.0.1:{port}", **env
        )
        made = Parent(process, port, sync_store, tmp_path / "project")
        made.wait_until_ready()
        made.wait_until_reported(count)
        return made

    return start


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def events(process: Process, name: str) -> list[dict[str, object]]:
    """The log lines of one event."""
    lines = (line for line in process.output().splitlines() if line.startswith("{"))
    return [entry for line in lines if (entry := json.loads(line))["event"] == name]


def test_all_processes_work_and_one_signal_drains_them_all(parent: Callable[..., Parent]) -> None:
    running = parent(2, "--concurrency", "1")
    held = running.start_holding(2)
    assert {running.job(job_id).state for job_id in held} == {JobState.RUNNING}

    # As a terminal's Ctrl-C does it: to the whole group at once, and the parent passes it on besides.
    pids = running.pids()
    os.killpg(running.process.pid, signal.SIGINT)
    eventually_sync(lambda: len(events(running.process, "worker_draining")) == 2, within_s=20)
    assert running.get("/livez")[0] == 200
    assert running.get("/health")[0] == 200
    assert running.get("/ready") == (503, '{"status":"not_ready","redis":"ok"}')
    running.open_gate()

    assert running.process.wait() == ExitCode.OK
    assert {running.job(job_id).state for job_id in held} == {JobState.COMPLETED}
    assert {json.loads(running.job(job_id).result or b"0") for job_id in held} == pids
    assert running.workers() == []
    assert not any(map(is_alive, pids))


def test_a_second_signal_ends_all_at_once(parent: Callable[..., Parent]) -> None:
    running = parent(2, "--concurrency", "1")
    held = running.start_holding(2)
    pids = running.pids()

    for _ in range(2):  # as a program above us does that passes on what all get: still one request
        running.process.signal(signal.SIGTERM)
    eventually_sync(lambda: len(events(running.process, "worker_draining")) == 2, within_s=20)
    running.process.signal(signal.SIGINT)

    assert running.process.wait() == 128 + signal.SIGINT
    assert not any(map(is_alive, pids))
    assert {running.job(job_id).state for job_id in held} == {JobState.RUNNING}  # recovered when the lease ends


def test_a_killed_process_is_started_again(parent: Callable[..., Parent]) -> None:
    running = parent(2)
    before = running.pids()
    victim = min(before)

    os.kill(victim, signal.SIGKILL)
    eventually_sync(lambda: running.get("/ready")[0] == 503, within_s=20, every_s=0.005)
    running.wait_until_ready()

    eventually_sync(lambda: len(running.pids() - before) == 1, within_s=20)
    [ended] = events(running.process, "process_ended")
    assert (ended["pid"], ended["how"]) == (victim, "was ended by SIGKILL")
    started = {key[1]: value for key, value in running.samples().items() if key[0].endswith("process_starts_total")}
    assert sorted(started.values()) == [1, 2]
    assert running.in_state("running") == 2
    running.process.signal(signal.SIGTERM)
    assert running.process.wait() == ExitCode.OK  # an old crash is no part of the status


def test_a_killed_parent_leaves_processes_that_drain_and_go(parent: Callable[..., Parent]) -> None:
    running = parent(2, "--concurrency", "1")
    held = running.start_holding(1)
    pids = running.pids()

    running.process.signal(signal.SIGKILL)
    eventually_sync(lambda: len(events(running.process, "worker_draining")) == 2, within_s=20)
    eventually_sync(lambda: sum(map(is_alive, pids)) == 1, within_s=20)
    [still_there] = filter(is_alive, pids)
    running.open_gate()

    eventually_sync(lambda: not is_alive(still_there), within_s=20)
    assert running.job(held[0]).state is JobState.COMPLETED
    assert running.workers() == []


def test_metrics_of_all_stand_on_one_page(parent: Callable[..., Parent]) -> None:
    running = parent(2, "--concurrency", "1")
    ids = [running.enqueue("quick") for _ in range(20)]
    eventually_sync(lambda: {running.job(job_id).state for job_id in ids} == {JobState.COMPLETED}, within_s=20)

    by_process = dict.fromkeys(running.pids(), 0)
    for job_id in ids:
        by_process[json.loads(running.job(job_id).result or b"0")] += 1
    samples = running.samples()

    for name, label in (
        ("leaseforge_worker_settled_jobs_total", "completed"),
        ("leaseforge_task_duration_seconds_count", "quick"),
        ("leaseforge_task_duration_seconds_bucket", "+Inf,quick"),
    ):
        counted = [samples.get((name, process, label), 0) for process in ("1", "2")]
        assert sorted(counted) == sorted(by_process.values()), name
    page = running.get("/metrics")[1]
    told = [line for line in page.splitlines() if line.startswith(("# HELP", "# TYPE"))]
    assert len(told) == len(set(told))
    assert page.count("# TYPE leaseforge_task_duration_seconds histogram") == 1


def test_a_process_that_does_not_answer_is_left_out_and_counted(parent: Callable[..., Parent]) -> None:
    running = parent(2)
    stopped = min(running.pids())

    os.kill(stopped, signal.SIGSTOP)
    try:
        eventually_sync(lambda: running.in_state("silent") == 1, within_s=20)
        assert running.in_state("running") == 1
        assert len({process for name, process, _ in running.samples() if name == "leaseforge_worker_slots"}) == 1
        assert running.get("/livez")[0] == 200
        assert running.get("/health") == (200, '{"status":"ok","redis":"ok"}')
        assert running.get("/ready") == (503, '{"status":"not_ready","redis":"ok"}')
    finally:
        os.kill(stopped, signal.SIGCONT)

    running.wait_until_ready()
    assert running.in_state("running") == 2


def test_a_process_an_operator_stops_stays_away_and_the_others_go_on(
    parent: Callable[..., Parent], sync_store: SyncStore
) -> None:
    running = parent(2, LEASEFORGE_LEASE_SECONDS="1")
    first, second = (info.id for info in running.workers())

    sync_store.run(operations.command_worker(first, "stop"))

    eventually_sync(lambda: running.in_state("stopped") == 1, within_s=20)
    assert len(events(running.process, "process_left")) == 1
    assert running.get("/ready")[0] == 200
    assert [info.id for info in running.workers()] == [second]
    sync_store.run(operations.command_worker(second, "stop"))
    assert running.process.wait() == ExitCode.OK


@pytest.mark.parametrize(
    ("arguments", "env", "code", "said"),
    [
        (["nowhere"], {}, ExitCode.TASKS, "no module named 'nowhere'"),
        (["mytasks", "--concurrency", "0"], {}, ExitCode.USAGE, "'--concurrency': must be a whole number from 1"),
        (["mytasks"], {"LEASEFORGE_LEASE_SECONDS": "soon"}, ExitCode.SETTINGS, "LEASEFORGE_LEASE_SECONDS: must be"),
        (
            ["mytasks"],
            {"LEASEFORGE_REDIS_URL": "unix:///nowhere/redis.sock"},
            ExitCode.STORE_UNAVAILABLE,
            "not available",
        ),
    ],
)
def test_a_mistake_is_told_once_with_its_own_exit_code(
    command: Start, arguments: list[str], env: dict[str, str], code: ExitCode, said: str
) -> None:
    failed = command(*arguments, LEASEFORGE_WORKER_PROCESSES="4", **env)

    assert failed.wait(within_s=STARTS_WITHIN_S) == code
    assert failed.output().count(said) == 1


def test_more_processes_than_there_may_be_are_refused(command: Start) -> None:
    failed = command("mytasks", "--processes", "65")

    assert failed.wait() == ExitCode.USAGE
    assert "'--processes': must be a whole number from 1 to 64" in failed.output()


def test_a_taken_probe_address_is_told_before_anything_starts(command: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        failed = command("mytasks", "--processes", "2", "--metrics-addr", f"127.0.0.1:{port}")

        assert failed.wait() == ExitCode.ADDRESS_IN_USE

    [line] = failed.output().splitlines()
    assert f"127.0.0.1:{port} is in use" in line


def test_nobody_else_can_play_the_parent(command: Start) -> None:
    failed = command("mytasks", "--parent-fd", "0")

    assert failed.wait() == ExitCode.USAGE
    assert "--parent-fd is for processes that --processes starts" in failed.output()
