import json
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from leaseforge_cli.exits import ExitCode
from tests.support import Process, eventually_sync, free_port

Start = Callable[..., Process]

TASKS = """
from leaseforge import task

@task
async def greet(ctx, payload: dict):
    return f"hello {payload['name']}"
"""


@pytest.fixture
def worker(processes: Start, tmp_path: Path, redis_url: str) -> Start:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mytasks.py").write_text(TASKS)

    def start(*arguments: str, **env: str | None) -> Process:
        settings = {"LEASEFORGE_REDIS_URL": redis_url, "LEASEFORGE_METRICS_ADDR": "off"}
        command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", "worker", *arguments]
        return processes(command, cwd=folder, env=settings | env)

    return start


def test_a_module_of_the_current_folder_runs_jobs_until_sigterm(worker: Start, sync_store: SyncStore) -> None:
    running = worker("mytasks")
    job_id = sync_store.run(operations.enqueue(new_job("greet", {"name": "Ada"}))).id

    eventually_sync(lambda: sync_store.run(reads.job(job_id)).state is JobState.COMPLETED, within_s=30)

    result = sync_store.run(reads.job(job_id)).result
    assert result is not None
    assert json.loads(result) == "hello Ada"
    running.signal(signal.SIGTERM)
    assert running.wait() == ExitCode.OK


def test_an_option_wins_over_its_variable_even_over_a_wrong_one(worker: Start, sync_store: SyncStore) -> None:
    worker("--demo", "--queues", "chosen", "--concurrency", "3", LEASEFORGE_WORKER_CONCURRENCY="many")

    [info] = eventually_sync(lambda: sync_store.run(reads.workers()).items, within_s=30)

    assert list(info.queues) == ["chosen"]
    assert info.slots == 3


@pytest.mark.parametrize(
    ("arguments", "env", "code", "said"),
    [
        ([], {}, ExitCode.USAGE, "name at least one module with tasks"),
        (["nowhere"], {}, ExitCode.TASKS, "no module named 'nowhere'"),
        (["mytasks:missing"], {}, ExitCode.TASKS, "has no 'missing'"),
        (["mytasks", "--queues", "a b"], {}, ExitCode.USAGE, "queue 'a b' must be"),
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
def test_what_is_wrong_is_one_line_and_its_own_exit_code(
    worker: Start, arguments: list[str], env: dict[str, str], code: ExitCode, said: str
) -> None:
    failed = worker(*arguments, **env)

    assert failed.wait() == code
    [line] = failed.output().splitlines()
    assert line.startswith("leaseforge: ")
    assert said in line


@pytest.mark.parametrize("processes_option", [[], ["--processes", "2"]])
def test_probes_can_be_turned_off_by_an_option(
    worker: Start, sync_store: SyncStore, processes_option: list[str]
) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        running = worker(
            "--demo", "--metrics-addr", "off", *processes_option, LEASEFORGE_METRICS_ADDR=f"127.0.0.1:{port}"
        )

        eventually_sync(lambda: sync_store.run(reads.workers()).items, within_s=30)

        running.signal(signal.SIGTERM)
        assert running.wait() == ExitCode.OK


def test_a_taken_probe_address_is_told(worker: Start) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        failed = worker("--demo", "--metrics-addr", f"127.0.0.1:{port}")

        assert failed.wait() == ExitCode.ADDRESS_IN_USE

    assert f"127.0.0.1:{port} is in use" in failed.output()
