"""The server killed under load, frozen, restarted again and again, and its clients thrown out."""

import asyncio
import random
import time
from collections.abc import Callable
from functools import partial

import pytest
import redis

from leaseforge.store import Store, connect
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced, Producer
from tests.faults.servers import FaultyServer
from tests.faults.workers import Crew, StartProcess, log_lines, metric
from tests.support.processes import Process
from tests.support.waiting import eventually
from tests.worker.workers import all_ended, enqueue, many

Start = Callable[..., FaultyServer]


async def joined(producers: list[Producer]) -> None:
    for producer in producers:
        await asyncio.to_thread(producer.join, 90)
        assert not producer.is_alive()


def all_have(workers: list[Process], event: str, times: int) -> bool:
    """Whether every worker logged the event so often."""
    for worker in workers:
        assert len(log_lines(worker, event)) >= times, worker.output()
    return True


def all_loops_live(workers: list[Process]) -> bool:
    """No process ended, no loop crashed, and every loop gave a sign of life lately."""
    for worker in workers:
        worker.check_running()
        assert metric(worker, "leaseforge_worker_degraded") == 0
        assert metric(worker, "leaseforge_loop_crashes_total") == 0
        assert metric(worker, "leaseforge_loop_age_seconds") < 30  # the sum over all loops
    return True


@pytest.mark.parametrize("fsync", ["everysec", pytest.param("always", marks=pytest.mark.soak)])
async def test_nothing_acknowledged_is_lost_when_the_server_is_killed_under_load(
    faulty_server: Start,
    processes: StartProcess,
    ledger: Ledger,
    produced: Produced,
    chance: random.Random,
    fsync: str,
) -> None:
    """What was written before the reply outlives its process under both settings; only a power cut tells them apart."""
    server = faulty_server(fsync=fsync)
    crew = Crew(processes, server.url, ledger)
    workers = crew.workers(2)
    producers = [Producer(server.url, produced, count=150, retry_s=60.0, pause_s=0.005) for _ in range(2)]
    for producer in producers:
        producer.start()

    for kill in (1, 2):
        goal = kill * 60 + chance.randrange(40)
        await eventually(lambda goal=goal: len(produced.acknowledged) >= goal, within_s=60)  # type: ignore[misc]
        server.kill()
        await eventually(partial(all_have, workers, "redis_lost", kill), within_s=30)
        server.start()
        await eventually(partial(all_have, workers, "redis_back", kill), within_s=30)
    await joined(producers)

    async with connect(server.url) as store:
        await all_ended(store, 300)
    assert (len(produced.acknowledged), produced.unknown, produced.refused) == (300, set(), set())
    await eventually(lambda: all_loops_live(workers), within_s=30)
    queue = audit(server.url, ledger, produced, lease_ms=2000)["default"]
    assert {job.get("failures", "0") for job in queue.records.values()} == {"0"}


async def test_a_frozen_server_is_no_mass_double_run(
    faulty_server: Start, processes: StartProcess, ledger: Ledger, produced: Produced
) -> None:
    """Frozen for longer than a lease: all leases are over when it wakes, and their live holders get to renew first."""
    server = faulty_server()
    crew = Crew(processes, server.url, ledger)
    workers = crew.workers(2)
    async with connect(server.url) as store:
        produced.add(*await enqueue(store, *many("work", 32, {"ms": 6000}), *many("work", 200, {"ms": 20})))
        await eventually(lambda: len(ledger.noted("start")) >= 16)

        server.freeze()
        await asyncio.sleep(3)
        server.thaw()

        await all_ended(store, 232)
    await eventually(lambda: all_loops_live(workers), within_s=30)
    queue = audit(server.url, ledger, produced, lease_ms=2000)["default"]
    assert {job["state"] for job in queue.records.values()} == {"completed"}
    assert {job.get("failures", "0") for job in queue.records.values()} == {"0"}
    # Sixteen were running: a machine that starved a worker may cost it some leases, an outage must not cost all.
    assert queue.counts.get("recovered", 0) < 8


async def test_workers_live_through_restarts_in_a_row(
    faulty_server: Start, processes: StartProcess, ledger: Ledger, produced: Produced
) -> None:
    server = faulty_server()
    crew = Crew(processes, server.url, ledger)
    workers = crew.workers(2)
    with Producer(server.url, produced, count=300, pause_s=0.01) as producer:
        await eventually(lambda: len(ledger.noted("end")) >= 20)
        for _ in range(3):
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            await asyncio.sleep(0.7)
        await joined([producer])

    async with connect(server.url) as store:
        await all_ended(store, 300)
    await eventually(lambda: all_loops_live(workers), within_s=30)
    assert (len(produced.acknowledged), produced.unknown, produced.refused) == (300, set(), set())
    audit(server.url, ledger, produced, lease_ms=2000)


async def test_workers_live_through_being_thrown_out_all_the_time(
    crew: Crew, ledger: Ledger, produced: Produced, store: Store, redis_url: str
) -> None:
    workers = crew.workers(2)
    with redis.Redis.from_url(redis_url) as client, Producer(redis_url, produced, count=300, pause_s=0.005) as producer:
        until = time.monotonic() + 4
        while time.monotonic() < until:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            await asyncio.sleep(0.05)
        await joined([producer])

    await all_ended(store, 300)
    await eventually(lambda: all_loops_live(workers), within_s=30)
    assert (len(produced.acknowledged), produced.unknown, produced.refused) == (300, set(), set())
    audit(redis_url, ledger, produced, lease_ms=2000)
