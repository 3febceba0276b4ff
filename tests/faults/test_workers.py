"""Faults with real worker processes and a real server: killed, stopped, restarted, drained."""

import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from leaseforge import operations
from leaseforge.embedded import EmbeddedServer
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store, connect
from leaseforge_cli.exits import ExitCode
from tests.faults.ledger import Ledger
from tests.faults.workers import CLI, ROOT, TASKS, Crew, log_lines
from tests.support.processes import Process
from tests.support.waiting import eventually, free_port
from tests.worker.workers import all_ended, counts, ended, enqueue, many, running, the_job

StartProcess = Callable[..., Process]


async def test_every_job_ends_and_none_is_charged_when_a_worker_is_killed(store: Store, crew: Crew) -> None:
    doomed = crew.worker(lease_s=1.0, concurrency=8)
    ids = await enqueue(store, *many("work", 150, {"ms": 40}), *many("work_in_thread", 50, {"ms": 40}))
    await eventually(lambda: len(crew.ledger.noted("end")) >= 30)

    os.kill(doomed.pid, signal.SIGKILL)
    crew.worker(lease_s=1.0, concurrency=8)

    assert await all_ended(store, 200) == {"completed": 200}
    jobs = [await the_job(store, job_id) for job_id in ids]
    assert {job.failures for job in jobs} == {0}
    assert 0 < sum(job.recoveries for job in jobs) <= 16
    assert {job.id for job in jobs} == {line.job for line in crew.ledger.noted("end")}


async def test_a_worker_that_slept_past_its_lease_settles_nothing_and_starts_nothing_old(
    store: Store, crew: Crew
) -> None:
    sleeper = crew.worker(lease_s=1.0, concurrency=2)
    ids = await enqueue(store, *many("wait_for_gate", 2))
    await eventually(lambda: len(crew.ledger.noted("start")) == 2)

    os.kill(sleeper.pid, signal.SIGSTOP)
    crew.worker(lease_s=1.0, concurrency=2)
    await eventually(lambda: len(crew.ledger.noted("start")) == 4)
    crew.ledger.gate.touch()
    assert await all_ended(store, 2) == {"completed": 2}
    os.kill(sleeper.pid, signal.SIGCONT)
    await eventually(lambda: len(log_lines(sleeper, "job_fenced")) >= 2)

    for job_id in ids:
        job = await the_job(store, job_id)
        highest = max(line.fence for line in crew.ledger.noted("start", job_id))
        assert (job.state, job.result, job.failures) == (JobState.COMPLETED, str(highest).encode(), 0)
    [job_id] = await enqueue(store, new_job("work", {"ms": 1}))
    await ended(store, job_id)


async def test_a_handler_that_lost_its_job_to_another_is_cancelled_at_once(store: Store, crew: Crew) -> None:
    sleeper = crew.worker(lease_s=1.0, concurrency=1)
    [job_id] = await enqueue(store, new_job("wait_for_gate"))
    await eventually(lambda: crew.ledger.noted("start"))

    os.kill(sleeper.pid, signal.SIGSTOP)
    crew.worker(lease_s=1.0, concurrency=1)
    await eventually(lambda: len(crew.ledger.noted("start")) == 2)
    os.kill(sleeper.pid, signal.SIGCONT)

    await eventually(lambda: crew.ledger.noted("cancelled"))
    assert crew.ledger.noted("cancelled")[0].pid == sleeper.pid
    crew.ledger.gate.touch()
    assert (await ended(store, job_id)).state is JobState.COMPLETED


@pytest.fixture
def durable_server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server of the test's own that writes what it acknowledges to disk."""
    server = EmbeddedServer(tmp_path / "redis", port=free_port(), durable=True, config={"appendfsync": "always"})
    yield server.start()
    server.stop()


@pytest.fixture
async def durable_store(durable_server: EmbeddedServer) -> AsyncIterator[Store]:
    """A store on it that waits out a restart."""
    async with connect(f"redis://127.0.0.1:{durable_server.port}/0", retry_s=20.0) as store:
        yield store


async def test_every_job_ends_and_none_is_charged_when_the_server_is_killed_and_comes_back(
    durable_server: EmbeddedServer, durable_store: Store, processes: StartProcess, tmp_path: Path
) -> None:
    crew = Crew(processes, f"redis://127.0.0.1:{durable_server.port}/0", Ledger(tmp_path))
    workers = [crew.worker(lease_s=2.0, concurrency=8) for _ in range(2)]
    ids = await enqueue(durable_store, *many("work", 300, {"ms": 30}))
    await eventually(lambda: len(crew.ledger.noted("end")) >= 50)

    assert durable_server.pid is not None
    os.kill(durable_server.pid, signal.SIGKILL)
    await eventually(durable_server.has_died)
    for worker in workers:
        worker.wait_for_output("redis_lost")
    durable_server.start()

    assert await all_ended(durable_store, 300) == {"completed": 300}
    jobs = [await the_job(durable_store, job_id) for job_id in ids]
    assert {(job.failures, job.recoveries) for job in jobs} == {(0, 0)}
    for worker in workers:
        worker.wait_for_output("redis_back")
        assert worker.returncode is None
    ends = Counter(line.job for line in crew.ledger.noted("end"))
    assert set(ends) == set(ids)


async def test_a_drain_finishes_what_it_can_and_charges_nothing(store: Store, crew: Crew) -> None:
    worker = crew.worker(lease_s=1.0, concurrency=4, drain_s=1.0)
    ids = await enqueue(store, *many("work", 2, {"ms": 200}), *many("wait_for_gate", 1), *many("thread_until_gate", 1))
    await eventually(lambda: len(crew.ledger.noted("start")) == 4)
    waiting = await enqueue(store, *many("work", 20, {"ms": 5}))

    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0

    assert await counts(store) == {"completed": 2, "ready": 22}
    for job_id in [*ids, *waiting]:
        job = await the_job(store, job_id)
        assert (job.failures, job.recoveries) == (0, 0)
    crew.ledger.gate.touch()
    crew.worker()
    assert await all_ended(store, 24) == {"completed": 24}


async def test_a_worker_that_cannot_reach_redis_still_stops_in_time(
    durable_server: EmbeddedServer, durable_store: Store, processes: StartProcess, tmp_path: Path
) -> None:
    crew = Crew(processes, f"redis://127.0.0.1:{durable_server.port}/0", Ledger(tmp_path))
    worker = crew.worker(lease_s=1.0, drain_s=0.5)
    await enqueue(durable_store, *many("wait_for_gate", 3))
    await eventually(lambda: len(crew.ledger.noted("start")) == 3)

    durable_server.stop()
    worker.wait_for_output("redis_lost")
    worker.signal(signal.SIGTERM)

    assert worker.wait(within_s=15) == 0
    assert [line["unsettled"] for line in log_lines(worker, "worker_drained")] == [3]


async def test_a_handler_that_cannot_be_stopped_does_not_hold_up_the_end(store: Store, crew: Crew) -> None:
    worker = crew.worker(lease_s=1.0, drain_s=0.1)
    [job_id] = await enqueue(store, new_job("ignores_cancel"))
    await eventually(lambda: crew.ledger.noted("start"))

    worker.signal(signal.SIGINT)
    assert worker.wait() == 0

    job = await the_job(store, job_id)
    assert (job.state, job.failures, job.releases) == (JobState.READY, 0, 1)
    assert log_lines(worker, "worker_cut_off")


@pytest.mark.parametrize(("second", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_a_second_signal_ends_the_process_at_once(
    store: Store, crew: Crew, second: signal.Signals, status: int
) -> None:
    worker = crew.worker(drain_s=30.0)
    await enqueue(store, new_job("block_loop", {"ms": 20_000}))
    await eventually(lambda: crew.ledger.noted("start"))

    worker.signal(signal.SIGTERM)

    def ends() -> bool:
        worker.signal(second)  # a first one that is still on its way may swallow one of the same kind
        return worker.returncode is not None

    await eventually(ends)
    assert worker.returncode in (status, 143)


async def test_an_idle_worker_stops_at_once(crew: Crew) -> None:
    worker = crew.worker(drain_s=30.0)

    worker.signal(signal.SIGTERM)

    assert worker.wait(within_s=10) == 0
    assert [line["unsettled"] for line in log_lines(worker, "worker_drained")] == [0]


async def test_blocking_handlers_of_both_kinds_keep_their_leases(store: Store, crew: Crew) -> None:
    crew.worker(lease_s=0.8, concurrency=4)
    crew.worker(lease_s=0.8, concurrency=4)
    ids = await enqueue(store, *many("work_in_thread", 3, {"ms": 1800}), *many("block_loop", 2, {"ms": 1800}))

    assert await all_ended(store, 5) == {"completed": 5}
    for job_id in ids:
        job = await the_job(store, job_id)
        assert (job.attempts, job.recoveries) == (1, 0)
    assert len(crew.ledger.noted("start")) == 5


async def test_a_paused_queue_gives_no_work_even_to_a_worker_that_just_came(store: Store, crew: Crew) -> None:
    await enqueue(store, *many("work", 10, {"ms": 1}))
    await store.run(operations.pause("default"))
    worker = crew.worker()
    [probe] = await enqueue(store, new_job("work", {"ms": 1}))
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert await counts(store) == {"ready": 11}

    crew.worker()
    await store.run(operations.resume("default"))

    assert await all_ended(store, 11) == {"completed": 11}
    assert (await the_job(store, probe)).attempts == 1


async def test_a_killed_workers_wake_token_is_not_missed(store: Store, crew: Crew) -> None:
    """Two idle workers; the one that may have taken the token dies with it: the sweep puts one back."""
    first, second = crew.worker(lease_s=1.0), crew.worker(lease_s=1.0)
    for victim in (first, second):
        if victim is first:
            os.kill(victim.pid, signal.SIGSTOP)
        ids = await enqueue(store, *many("work", 5, {"ms": 1}))
        if victim is first:
            os.kill(victim.pid, signal.SIGKILL)
        for job_id in ids:
            assert (await ended(store, job_id)).state is JobState.COMPLETED


async def test_a_server_that_is_not_there_or_not_fit_is_refused_in_one_line(
    processes: StartProcess, redis_url: str, tmp_path: Path
) -> None:
    url = f"redis://127.0.0.1:{free_port()}"
    gone = processes([*CLI, "worker", TASKS], cwd=ROOT, env={"LEASEFORGE_REDIS_URL": url})

    assert gone.wait() == ExitCode.STORE_UNAVAILABLE
    [line] = gone.output().splitlines()
    assert "not available" in line


async def test_jobs_of_every_kind_survive_two_workers_killed_in_turn(store: Store, crew: Crew) -> None:
    fast = {"max_attempts": 2, "backoff": "fixed", "backoff_base_ms": 10}
    await enqueue(
        store,
        *many("work", 40, {"ms": 20}),
        *many("work_in_thread", 20, {"ms": 20}),
        *many("breaks", 15, **fast),
        *many("needs_number", 15, "text"),
        *many("needs_number", 10, 1, delay_ms=300),
    )
    for _ in range(2):
        victim = crew.worker(lease_s=1.0, concurrency=4)
        seen = len(crew.ledger.lines())
        await eventually(partial(_noted_more_than, crew, seen + 10))
        os.kill(victim.pid, signal.SIGKILL)
    crew.worker(lease_s=1.0, concurrency=4)

    assert await all_ended(store, 100) == {"completed": 70, "dead": 30}


def _noted_more_than(crew: Crew, lines: int) -> bool:
    return len(crew.ledger.lines()) > lines


async def test_one_workers_settlement_is_one_accepted_result_per_claim(store: Store, crew: Crew) -> None:
    crew.worker(lease_s=1.0, concurrency=8)
    crew.worker(lease_s=1.0, concurrency=8)
    ids = await enqueue(store, *many("work", 100, {"ms": 5}))
    await all_ended(store, 100)

    starts = Counter(line.job for line in crew.ledger.noted("start"))
    assert starts == Counter(ids)
    await running(store, 0)
