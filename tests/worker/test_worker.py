"""A whole worker on a real server, inside the test's loop."""

import asyncio
import json
import os
import signal
import threading
import time
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.context import Context
from leaseforge.embedded import EmbeddedServer
from leaseforge.errors import StoreUnavailable
from leaseforge.jobs import JobState
from leaseforge.registry import Registry
from leaseforge.requests import new_job
from leaseforge.store import Store, connect
from leaseforge.tasks import task
from leaseforge.workers import WorkerInfo, WorkerState
from leaseforge_worker.demo import TASKS
from leaseforge_worker.health import AddressInUse
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.worker import OK, WORN_OUT, Worker
from tests.support.waiting import eventually, free_port
from tests.worker.workers import a_worker, all_ended, counts, ended, enqueue, many, running, the_job, the_worker, until

DEMO = tuple(TASKS)


async def test_a_job_runs_and_its_result_is_kept(store: Store, redis_url: str) -> None:
    async with a_worker(redis_url, *DEMO):
        [job_id] = await enqueue(store, new_job("echo", {"hello": [1, 2]}))
        job = await ended(store, job_id)

    assert (job.state, job.result, job.attempts, job.failures) == (JobState.COMPLETED, b'{"hello":[1,2]}', 1, 0)


async def test_jobs_enqueued_before_the_worker_came_run_too(store: Store, redis_url: str) -> None:
    await enqueue(store, *many("echo", 500, "x"))

    async with a_worker(redis_url, *DEMO):
        assert await all_ended(store, 500) == {"completed": 500}


async def test_mixed_kinds_of_jobs_each_end_as_they_should(store: Store, redis_url: str) -> None:
    @task
    async def value_error(ctx: Context) -> None:
        raise ValueError("no")

    fast = {"max_attempts": 2, "backoff": "fixed", "backoff_base_ms": 5}
    jobs = [
        *many("echo", 30, {"a": 1}),
        *many("generate_pdf", 10, {"title": "t", "lines": ["l"]}),
        *many("sleep", 20, {"duration_ms": 20}),
        *many("echo", 10, b"not json"),
        *many("value_error", 10, **fast),
        *many("nobody", 10, **fast),
        *many("echo", 10, "later", delay_ms=150),
    ]
    async with a_worker(redis_url, *DEMO, value_error, lease_s=1.0):
        ids = await enqueue(store, *jobs)
        assert await all_ended(store, 100) == {"completed": 70, "dead": 30}

    by_type: dict[str, set[Any]] = {}
    for job_id, asked in zip(ids, jobs, strict=True):
        job = await the_job(store, job_id)
        kind = asked.type if asked.payload != b"not json" else "bad"
        by_type.setdefault(kind, set()).add(
            (job.state.value, job.reason, job.error.kind if job.error else None, job.failures)
        )
    assert by_type == {
        "echo": {("completed", None, None, 0)},
        "generate_pdf": {("completed", None, None, 0)},
        "sleep": {("completed", None, None, 0)},
        "bad": {("dead", "bad_payload", "bad_payload", 1)},
        "value_error": {("dead", "attempts_exhausted", "ValueError", 2)},
        "nobody": {("dead", "attempts_exhausted", "unknown_type", 2)},
    }


async def test_priorities_run_first(store: Store, redis_url: str) -> None:
    order: list[int] = []

    @task
    async def note(ctx: Context, payload: int) -> None:
        order.append(payload)

    await enqueue(store, *[new_job("note", p, priority=p) for p in (0, 5, -3, 5, 9)])
    async with a_worker(redis_url, note, concurrency=1):
        await all_ended(store, 5)

    assert order == [9, 5, 5, 0, -3]


async def test_a_strict_worker_leaves_later_queues_until_the_earlier_are_empty(store: Store, redis_url: str) -> None:
    order: list[str] = []

    @task
    async def note(ctx: Context) -> None:
        order.append(ctx.job.queue)

    await enqueue(store, *many("note", 20, queue="low"))
    await enqueue(store, *many("note", 20, queue="high"))
    async with a_worker(redis_url, note, queues="high,low", concurrency=1, batch_size=1):
        await all_ended(store, 20, queue="low")

    assert order == ["high"] * 20 + ["low"] * 20


async def test_a_worker_of_every_queue_finds_new_ones(store: Store, redis_url: str) -> None:
    async with a_worker(redis_url, *DEMO, queues="*"):
        for name in ("first", "second"):
            [job_id] = await enqueue(store, new_job("echo", 1, queue=name))
            assert (await ended(store, job_id)).state is JobState.COMPLETED


async def test_a_paused_queue_is_not_claimed_from_until_it_is_resumed(store: Store, redis_url: str) -> None:
    async with a_worker(redis_url, *DEMO) as worker:
        [first] = await enqueue(store, new_job("echo", 1))
        await ended(store, first)
        await store.run(operations.pause("default"))

        ids = await enqueue(store, *many("echo", 20, 2))
        await eventually(lambda: "sweep" in worker.meters.calls)
        swept = worker.meters.calls["sweep"].total_s
        await eventually(lambda: worker.meters.calls["sweep"].total_s > swept)
        assert await counts(store) == {"completed": 1, "ready": 20}

        await store.run(operations.resume("default"))
        for job_id in ids:
            assert (await ended(store, job_id)).state is JobState.COMPLETED


async def test_a_rate_is_waited_out_without_asking_again_and_again(store: Store, redis_url: str) -> None:
    [first] = await enqueue(store, new_job("echo", 1))
    await store.run(operations.configure("default", {"rate": 20, "burst": 1}))
    await enqueue(store, *many("echo", 9, 1))

    async with a_worker(redis_url, *DEMO) as worker:
        assert await all_ended(store, 10) == {"completed": 10}
        exchanges = sum(sum(worker.meters.calls[name].counts) for name in ("claim", "ack"))

    assert (await the_job(store, first)).attempts == 1
    assert exchanges < 60


async def test_a_cap_holds_and_every_job_still_runs(store: Store, redis_url: str) -> None:
    at_once, most = 0, 0

    @task
    async def counted(ctx: Context) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.02)
        at_once -= 1

    await enqueue(store, new_job("counted"))
    await store.run(operations.configure("default", {"max_running": 2}))
    await enqueue(store, *many("counted", 19))
    async with a_worker(redis_url, counted), a_worker(redis_url, counted):
        assert await all_ended(store, 20) == {"completed": 20}

    assert most == 2


async def test_slow_jobs_are_not_hoarded(store: Store, redis_url: str) -> None:
    gate = asyncio.Event()

    @task
    async def slow(ctx: Context) -> None:
        await gate.wait()

    await enqueue(store, *many("slow", 30))
    async with a_worker(redis_url, slow, concurrency=2), a_worker(redis_url, slow, concurrency=3):
        await running(store, 5)
        gate.set()
        await all_ended(store, 30)


async def test_fast_jobs_do_not_stay_with_a_worker_whose_slots_are_all_taken_by_slow_ones(
    store: Store, redis_url: str
) -> None:
    gate = asyncio.Event()

    @task
    async def slow(ctx: Context) -> None:
        await gate.wait()

    await enqueue(store, *many("echo", 3000, 1), *many("slow", 2), *many("echo", 300, 1))
    async with a_worker(redis_url, slow, *DEMO, concurrency=2) as worker:
        await eventually(lambda: worker.meters.settled.get("completed") == 3000, within_s=30)
        await running(store, 2)
        assert await counts(store) == {"completed": 3000, "running": 2, "ready": 300}

        gate.set()
        assert await all_ended(store, 3302) == {"completed": 3302}


async def test_plain_functions_share_as_many_threads_as_there_are_slots(store: Store, redis_url: str) -> None:
    names: set[str] = set()

    @task
    def note(ctx: Context) -> None:
        names.add(threading.current_thread().name)
        time.sleep(0.005)

    await enqueue(store, *many("note", 60))
    async with a_worker(redis_url, note, concurrency=3):
        assert await all_ended(store, 60) == {"completed": 60}

    assert names == {"handler-1", "handler-2", "handler-3"}


async def test_a_timeout_is_an_ordinary_failure(store: Store, redis_url: str) -> None:
    @task(timeout_s=0.05, max_attempts=2, backoff="fixed", backoff_base_s=0.01)
    async def forever(ctx: Context) -> None:
        await asyncio.Event().wait()

    async with a_worker(redis_url, forever):
        [job_id] = await enqueue(store, new_job("forever"))
        job = await ended(store, job_id)

    assert (job.state, job.failures, job.error.kind if job.error else None) == (JobState.DEAD, 2, "timeout")
    assert [attempt.outcome for attempt in job.history] == ["timeout", "timeout"]


async def test_a_blocking_handler_keeps_its_lease(store: Store, redis_url: str) -> None:
    @task
    async def blocks_the_loop(ctx: Context) -> None:
        time.sleep(2.0)  # what a coroutine should never do

    @task
    def blocks_a_thread(ctx: Context) -> None:
        time.sleep(2.0)

    async with a_worker(redis_url, blocks_the_loop, blocks_a_thread, lease_s=0.9):
        ids = await enqueue(store, new_job("blocks_a_thread"), new_job("blocks_the_loop"))
        jobs = [await ended(store, job_id) for job_id in ids]

    assert [(job.state, job.attempts, job.recoveries) for job in jobs] == [(JobState.COMPLETED, 1, 0)] * 2


async def test_a_job_sees_nothing_of_the_context_variables_of_the_one_before(store: Store, redis_url: str) -> None:
    variable = ContextVar("variable", default="clean")

    @task
    async def stains(ctx: Context) -> str:
        seen = variable.get()
        variable.set("dirty")
        return seen

    async with a_worker(redis_url, stains, concurrency=1):
        ids = await enqueue(store, *many("stains", 5))
        assert {(await ended(store, job_id)).result for job_id in ids} == {b'"clean"'}


@pytest.mark.parametrize("kind", ["coroutine", "polite thread", "deaf thread"])
async def test_a_job_an_operator_cancels_is_stopped_and_settled_cancelled(
    store: Store, redis_url: str, kind: str
) -> None:
    release = threading.Event()

    @task
    async def coroutine(ctx: Context) -> None:
        await asyncio.Event().wait()

    @task(name="polite.thread")
    def polite(ctx: Context) -> None:
        while not ctx.cancelled:
            time.sleep(0.01)
        raise InterruptedError

    @task(name="deaf.thread")
    def deaf(ctx: Context) -> None:
        release.wait(20)

    async with a_worker(redis_url, coroutine, polite, deaf, lease_s=0.6):
        [job_id] = await enqueue(store, new_job(kind.replace(" ", ".")))
        await running(store, 1)
        await store.run(operations.cancel(job_id, operation="stop it"))
        job = await ended(store, job_id)
        release.set()

    assert (job.state, job.failures) == (JobState.CANCELLED, 0)


async def test_a_handler_can_see_that_its_lease_is_at_risk_and_finishes_when_redis_is_back(
    tmp_path: Path,
) -> None:
    server = EmbeddedServer(tmp_path / "redis", port=free_port(), durable=False).start()
    pid, url = server.pid, f"redis://127.0.0.1:{server.port}/0"
    assert pid is not None
    seen: list[bool] = []

    @task
    async def watches(ctx: Context) -> None:
        os.kill(pid, signal.SIGSTOP)
        await eventually(lambda: ctx.lease_at_risk)
        os.kill(pid, signal.SIGCONT)
        await eventually(lambda: not ctx.lease_at_risk)
        seen.append(ctx.cancelled)

    try:
        async with connect(url, retry_s=10.0) as store, a_worker(url, watches, lease_s=1.0) as worker:
            [job_id] = await enqueue(store, new_job("watches"))
            job = await ended(store, job_id, within_s=30)
            assert not worker.link.degraded
    finally:
        os.kill(pid, signal.SIGCONT)
        server.stop()

    assert (job.state, job.attempts, job.recoveries, seen) == (JobState.COMPLETED, 1, 0, [False])


async def test_the_worker_reports_itself_and_what_it_runs_and_leaves_the_list(store: Store, redis_url: str) -> None:
    gate = asyncio.Event()

    @task
    async def slow(ctx: Context) -> None:
        await gate.wait()

    async with a_worker(redis_url, slow, lease_s=0.9, concurrency=3) as worker:
        [job_id] = await enqueue(store, new_job("slow"))

        async def shown() -> WorkerInfo | None:
            info = await the_worker(store, worker.run_id)
            return info if info and info.running else None

        info = await until(shown)
        gate.set()

    assert info is not None
    assert (info.state, info.slots, info.types, info.queues) == (WorkerState.RUNNING, 3, ("slow",), ("default",))
    assert [run.id for run in info.running] == [job_id]
    assert info.rss_bytes > 1_000_000
    assert (await store.run(reads.workers())).total == 0


async def test_quiet_resume_and_stop_reach_the_worker(store: Store, redis_url: str) -> None:
    async def tell(worker: Worker, command: str) -> None:
        assert await store.run(operations.command_worker(worker.run_id, command))

    async with a_worker(redis_url, *DEMO, lease_s=0.6) as worker:
        await until(lambda: the_worker(store, worker.run_id))  # Redis knows whom it is for
        await tell(worker, "quiet")
        await eventually(lambda: worker.state is WorkerState.QUIET)
        [job_id] = await enqueue(store, new_job("echo", 1))
        await tell(worker, "resume")
        assert (await ended(store, job_id)).state is JobState.COMPLETED
        await tell(worker, "stop")
        await eventually(lambda: worker.state is WorkerState.STOPPING)


async def test_an_unstarted_worker_process_tells_why(redis_url: str) -> None:
    nobody = WorkerSettings(redis_url=f"redis://127.0.0.1:{free_port()}/0", metrics_address=None)
    with pytest.raises(StoreUnavailable):
        await Worker(nobody, Registry()).run()

    async with a_worker(redis_url, metrics_address=("127.0.0.1", 0)) as worker:
        await eventually(lambda: worker.health_address)
        busy = WorkerSettings(redis_url=redis_url, metrics_address=worker.health_address)
        with pytest.raises(AddressInUse):
            await Worker(busy, Registry()).run()


async def test_a_drain_finishes_what_runs_and_gives_back_the_rest_uncharged(store: Store, redis_url: str) -> None:
    @task
    async def short(ctx: Context) -> None:
        await asyncio.sleep(0.2)

    @task
    async def long(ctx: Context) -> None:
        await asyncio.Event().wait()

    @task
    def stuck(ctx: Context) -> None:
        release.wait(20)

    release = threading.Event()
    ids = await enqueue(store, new_job("short"), new_job("long"), new_job("stuck"))
    async with a_worker(redis_url, short, long, stuck, drain_s=0.5) as worker:
        await running(store, 3)
        worker.ask_to_stop()
    release.set()

    jobs = [await the_job(store, job_id) for job_id in ids]
    assert [job.state for job in jobs] == [JobState.COMPLETED, JobState.READY, JobState.READY]
    assert [(job.failures, job.recoveries, job.releases) for job in jobs] == [(0, 0, 0), (0, 0, 1), (0, 0, 1)]


async def test_a_cancelled_run_gives_back_what_it_holds_at_once(store: Store, redis_url: str) -> None:
    @task
    async def long(ctx: Context) -> None:
        await asyncio.Event().wait()

    [job_id] = await enqueue(store, new_job("long"))
    worker = Worker(WorkerSettings(redis_url=redis_url, metrics_address=None), Registry([long]))
    run = asyncio.create_task(worker.run())
    await running(store, 1)

    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    job = await the_job(store, job_id)
    assert (job.state, job.failures, job.releases) == (JobState.READY, 0, 1)


async def test_a_worker_whose_threads_are_all_stuck_drains_and_says_so(store: Store, redis_url: str) -> None:
    release = threading.Event()

    @task(timeout_s=0.05, max_attempts=5, backoff_base_s=60, backoff_cap_s=60)
    def stuck(ctx: Context) -> None:
        release.wait(20)

    worker = Worker(WorkerSettings(redis_url=redis_url, metrics_address=None, concurrency=2), Registry([stuck]))
    run = asyncio.create_task(worker.run())
    await enqueue(store, *many("stuck", 2))

    status = await asyncio.wait_for(run, 15)
    release.set()

    assert (status, OK) == (WORN_OUT, 0)
    assert await counts(store) == {"retrying": 2}


async def test_probes_and_metrics_are_served(store: Store, redis_url: str) -> None:
    async with a_worker(redis_url, *DEMO, metrics_address=("127.0.0.1", 0)) as worker:
        [job_id] = await enqueue(store, new_job("echo", 1))
        await ended(store, job_id)
        address = worker.health_address
        assert address is not None
        ready = await _get(address, "/ready")
        metrics = await _get(address, "/metrics")

    assert json.loads(ready) == {"status": "ready", "redis": "ok"}
    assert 'leaseforge_task_duration_seconds_count{type="echo"} 1.0' in metrics
    assert 'leaseforge_worker_settled_jobs_total{state="completed"} 1.0' in metrics


async def _get(address: tuple[str, int], path: str) -> str:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.decode().partition("\r\n\r\n")[2]
