"""Told to stop: by SIGTERM with long jobs, by a second one, under a shell, without a server."""

import os
import shlex
import signal
from collections.abc import Callable, Sequence

import pytest

from leaseforge import operations
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store, connect
from leaseforge_cli.exits import ExitCode
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced
from tests.faults.servers import FaultyServer
from tests.faults.workers import CLI, ROOT, TASKS, Crew, StartProcess, log_lines
from tests.support.waiting import eventually, free_port
from tests.worker.workers import all_ended, counts, ended, enqueue, many, the_job


async def test_a_drain_finishes_what_it_can_and_charges_nothing(
    store: Store, crew: Crew, ledger: Ledger, produced: Produced, redis_url: str
) -> None:
    worker = crew.worker(concurrency=4, drain_s=1.0)
    ids = await enqueue(store, *many("work", 2, {"ms": 200}), *many("wait_for_gate", 1), *many("thread_until_gate", 1))
    await eventually(lambda: len(ledger.noted("start")) == 4)
    waiting = await enqueue(store, *many("work", 200, {"ms": 5}))
    produced.add(*ids, *waiting)

    worker.signal(signal.SIGTERM)
    assert worker.wait() == ExitCode.OK

    found = await counts(store)
    assert set(found) == {"completed", "ready"}
    assert found["completed"] >= 2
    assert {(await the_job(store, job_id)).state for job_id in ids[2:]} == {JobState.READY}
    ledger.gate.touch()
    crew.worker()
    assert await all_ended(store, 204) == {"completed": 204}
    queue = audit(redis_url, ledger, produced)["default"]
    spent = {(job.get("failures", "0"), job.get("recoveries", "0")) for job in queue.records.values()}
    assert spent == {("0", "0")}


@pytest.mark.parametrize(("second", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_a_second_signal_ends_the_process_at_once_and_its_jobs_come_back(
    store: Store, crew: Crew, ledger: Ledger, redis_url: str, second: signal.Signals, status: int
) -> None:
    worker = crew.worker(drain_s=60.0)
    await enqueue(store, new_job("block_loop", {"ms": 60_000}), *many("wait_for_gate", 3))
    await eventually(lambda: ledger.noted("start"))

    worker.signal(signal.SIGTERM)

    def ends() -> bool:
        worker.signal(second)  # a first one that is still on its way may swallow one of the same kind
        return worker.returncode is not None

    await eventually(ends)
    assert worker.returncode in (status, 143)
    await store.run(operations.pause("default"))
    crew.worker()
    await eventually(lambda: has_counts(store, {"ready": 4}), within_s=30)
    audit(redis_url, ledger, ended=False, lease_ms=2000)


async def test_an_idle_worker_stops_at_once(crew: Crew) -> None:
    worker = crew.worker(drain_s=60.0)

    worker.signal(signal.SIGTERM)

    assert worker.wait() == ExitCode.OK
    assert [line["unsettled"] for line in log_lines(worker, "worker_drained")] == [0]


async def test_a_handler_that_cannot_be_stopped_does_not_hold_up_the_end(
    store: Store, crew: Crew, ledger: Ledger
) -> None:
    worker = crew.worker(drain_s=0.1)
    [job_id] = await enqueue(store, new_job("ignores_cancel"))
    await eventually(lambda: ledger.noted("start"))

    worker.signal(signal.SIGINT)
    assert worker.wait() == ExitCode.OK

    job = await the_job(store, job_id)
    assert (job.state, job.failures, job.releases) == (JobState.READY, 0, 1)
    assert log_lines(worker, "worker_cut_off")


def shell_that_becomes_it(command: Sequence[str]) -> list[str]:
    return ["sh", "-c", f"exec {shlex.join(command)}"]


def shell_that_stays(command: Sequence[str]) -> list[str]:
    """The shell passes nothing on and waits: as the first process of a container, or of a service's group."""
    return ["sh", "-c", f"trap : TERM; {shlex.join(command)} & wait $!; wait $!"]


@pytest.mark.parametrize("wrap", [shell_that_becomes_it, shell_that_stays])
async def test_a_worker_under_a_shell_drains_when_its_group_is_told_to_stop(
    store: Store, crew: Crew, ledger: Ledger, redis_url: str, wrap: Callable[[Sequence[str]], Sequence[str]]
) -> None:
    shell = crew.worker(wrap=wrap, drain_s=60.0)
    await enqueue(store, *many("wait_for_gate", 8))
    await eventually(lambda: len(ledger.noted("start")) == 8)

    os.killpg(shell.pid, signal.SIGTERM)
    shell.wait_for_output("worker_draining")
    ledger.gate.touch()

    assert shell.wait() == ExitCode.OK
    assert await counts(store) == {"completed": 8}
    audit(redis_url, ledger)


async def test_a_worker_that_cannot_reach_redis_still_stops_in_time(
    faulty_server: Callable[..., FaultyServer], processes: StartProcess, ledger: Ledger
) -> None:
    server = faulty_server(fsync="always")
    crew = Crew(processes, server.url, ledger)
    worker = crew.worker(drain_s=0.5)
    async with connect(server.url) as store:
        await enqueue(store, *many("wait_for_gate", 3))
        await eventually(lambda: len(ledger.noted("start")) == 3)
        server.kill()
        worker.wait_for_output("redis_lost")
        worker.signal(signal.SIGTERM)

        assert worker.wait() == ExitCode.OK
        assert [line["unsettled"] for line in log_lines(worker, "worker_drained")] == [3]

        server.start()
        ledger.gate.touch()
        crew.worker()
        await all_ended(store, 3)
    audit(server.url, ledger, lease_ms=2000)


async def test_a_server_that_is_not_there_is_refused_in_one_line(processes: StartProcess) -> None:
    url = f"redis://127.0.0.1:{free_port()}"
    gone = processes([*CLI, "worker", TASKS], cwd=ROOT, env={"LEASEFORGE_REDIS_URL": url})

    assert gone.wait() == ExitCode.STORE_UNAVAILABLE
    [line] = gone.output().splitlines()
    assert "not available" in line


async def test_a_paused_queue_gives_no_work_even_to_a_worker_that_just_came(store: Store, crew: Crew) -> None:
    await enqueue(store, *many("work", 10, {"ms": 1}))
    await store.run(operations.pause("default"))
    worker = crew.worker()
    [probe] = await enqueue(store, new_job("work", {"ms": 1}))
    worker.signal(signal.SIGTERM)
    assert worker.wait() == ExitCode.OK
    assert await counts(store) == {"ready": 11}

    await store.run(operations.resume("default"))
    crew.worker()

    assert (await ended(store, probe)).attempts == 1
    assert await all_ended(store, 11) == {"completed": 11}


async def has_counts(store: Store, expected: dict[str, int]) -> bool:
    return await counts(store) == expected
