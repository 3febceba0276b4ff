"""Isolated tasks in whole workers on a real server: leases, budgets, signals, and how workers end."""

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.enqueueing import Enqueued
from leaseforge.jobs import JobState
from leaseforge.registry import Registry
from leaseforge.requests import new_job
from leaseforge.store import Store, SyncStore
from leaseforge.tasks import TaskError, task
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.worker import Worker
from tests.support.processes import Process
from tests.support.waiting import eventually, eventually_sync
from tests.worker import isolated_tasks as tasks
from tests.worker.test_isolation import is_alive, noted
from tests.worker.workers import a_worker, all_ended, ended, enqueue, many, the_job

ROOT = Path(__file__).parents[2]
AT_ONCE: dict[str, Any] = {"backoff": "fixed", "backoff_base_ms": 10}

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")

StartProcess = Callable[..., Process]


@pytest.fixture
def start(processes: StartProcess, redis_url: str) -> Callable[..., Process]:
    """Starts a worker process with the isolated tasks, as its command does, and waits until it works."""

    def started(**env: str) -> Process:
        command = [sys.executable, "-c", "from leaseforge_cli.main import main; main()", "worker"]
        settings = {
            "LEASEFORGE_REDIS_URL": redis_url,
            "LEASEFORGE_METRICS_ADDR": "off",
            "LEASEFORGE_LEASE_SECONDS": "1.5",
            "LEASEFORGE_WORKER_CONCURRENCY": "4",
            "LEASEFORGE_DRAIN_SECONDS": "1",
        }
        child = processes([*command, "tests.worker.isolated_tasks"], cwd=ROOT, env=settings | env)
        child.wait_for_output("worker_started")
        return child

    return started


async def test_a_job_that_kills_its_process_is_poison_when_its_budget_is_spent(store: Store, redis_url: str) -> None:
    async with a_worker(redis_url, tasks.dies, tasks.who, concurrency=2):
        poison, *others = await enqueue(store, new_job("dies", "segfault", max_attempts=1, **AT_ONCE), *many("who", 20))
        dead = await ended(store, poison, within_s=40)
        for job_id in others:
            assert (await ended(store, job_id)).state is JobState.COMPLETED

    assert (dead.state, dead.reason, dead.failures, dead.recoveries) == (JobState.DEAD, "poison", 0, 4)
    assert [(one.outcome, one.error.kind if one.error else "") for one in dead.history] == [("crashed", "SIGSEGV")] * 4
    assert dead.group == "poison:dies"


async def test_a_handler_that_keeps_the_interpreter_keeps_its_lease_and_stops_nobody(
    store: Store, redis_url: str, tmp_path: Path
) -> None:
    async with a_worker(redis_url, tasks.holds_the_interpreter, tasks.who, lease_s=0.6, concurrency=2):
        [stuck] = await enqueue(
            store, new_job("holds_the_interpreter", str(tmp_path / "began"), timeout_ms=3_000, max_attempts=1)
        )
        [pid] = await noted(tmp_path / "began")
        beside = await enqueue(store, *many("who", 10))
        for job_id in beside:
            assert (await ended(store, job_id)).state is JobState.COMPLETED
        job = await ended(store, stuck)

    assert (job.state, job.recoveries, job.attempts) == (JobState.DEAD, 0, 1)
    assert job.error is not None
    assert job.error.kind == "timeout"
    assert not is_alive(pid)


async def test_an_operator_cancels_a_job_in_a_child(store: Store, redis_url: str, tmp_path: Path) -> None:
    async with a_worker(redis_url, tasks.waits):
        [job_id] = await enqueue(store, new_job("waits", str(tmp_path / "began")))
        await noted(tmp_path / "began")
        await store.run(operations.cancel(job_id, operation="stop"))
        job = await ended(store, job_id)

    assert job.state is JobState.CANCELLED
    assert (tmp_path / "began.stopped").read_text() == "True"


async def test_follow_ups_progress_and_log_lines_of_a_child_are_stored(store: Store, redis_url: str) -> None:
    async with a_worker(redis_url, tasks.speaks, tasks.echo, concurrency=2):
        [job_id] = await enqueue(store, new_job("speaks"))
        job = await ended(store, job_id)
        follow_ups = json.loads(job.result or b"[]")
        assert (await ended(store, follow_ups[0])).result == b'{"n":1}'
        assert await all_ended(store, 200) == {"completed": 200}

    assert job.progress is not None
    assert job.progress.percent == 100


async def test_a_drain_waits_for_children_and_leaves_none(store: Store, redis_url: str, tmp_path: Path) -> None:
    async with a_worker(redis_url, tasks.deaf, tasks.waits, drain_s=0.2):
        jobs = await enqueue(store, new_job("deaf", str(tmp_path / "deaf")), new_job("waits", str(tmp_path / "waits")))
        pids = [*await noted(tmp_path / "deaf"), *await noted(tmp_path / "waits")]

    assert not any(map(is_alive, pids))
    for job_id in jobs:
        job = await the_job(store, job_id)
        assert (job.state, job.releases, job.failures, job.recoveries) == (JobState.READY, 1, 0, 0)


@pytest.mark.parametrize("name", ["has_children", "holds_on_with_children"])
async def test_a_killed_worker_takes_its_children_and_theirs_along(
    store: Store, start: Callable[..., Process], tmp_path: Path, name: str
) -> None:
    worker = start()
    [job_id] = await enqueue(store, new_job(name, str(tmp_path / "began")))
    pids = await noted(tmp_path / "began")
    assert all(map(is_alive, pids))

    worker.signal(signal.SIGKILL)
    worker.wait()

    await eventually(lambda: not any(map(is_alive, pids)))
    assert (await the_job(store, job_id)).state is JobState.RUNNING


async def test_a_stop_sent_to_the_worker_and_its_children_is_obeyed_by_the_worker(
    store: Store, start: Callable[..., Process], tmp_path: Path
) -> None:
    worker = start()
    [job_id] = await enqueue(store, new_job("waits", str(tmp_path / "began")))
    [pid] = await noted(tmp_path / "began")

    for target in (pid, worker.pid):
        os.kill(target, signal.SIGTERM)

    assert worker.wait() == 0
    job = await the_job(store, job_id)
    assert (job.state, job.releases, job.recoveries) == (JobState.READY, 1, 0)
    assert not is_alive(pid)


def test_a_worker_beside_a_program_runs_isolated_tasks_and_leaves_no_process(
    sync_store: SyncStore, redis_url: str
) -> None:
    with Worker.of([tasks.who], redis_url=redis_url, concurrency=2):
        stored = sync_store.run(operations.enqueue_many(many("who", 6)))
        eventually_sync(lambda: len(_results(sync_store, stored)) == 6, within_s=40)
        pids = {json.loads(result)["pid"] for result in _results(sync_store, stored)}
        assert pids
        assert all(map(is_alive, pids))

    assert not any(map(is_alive, pids))


def _results(store: SyncStore, stored: Sequence[Enqueued]) -> list[bytes]:
    jobs = [store.run(reads.job(one.id)) for one in stored]
    return [job.result for job in jobs if job.state is JobState.COMPLETED and job.result is not None]


def test_a_worker_refuses_a_task_that_its_children_could_not_find() -> None:
    @task(isolate=True)
    def local(ctx: Any) -> None: ...

    with pytest.raises(TaskError, match="'local' cannot run in a child process"):
        Worker(WorkerSettings(), Registry([local]))
