"""An enqueue that waits for a replica: done with its word, of unknown outcome without, and safe to repeat."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import redis

from leaseforge import operations
from leaseforge.answers import Answer
from leaseforge.embedded import EmbeddedServer
from leaseforge.errors import StoreUnavailable
from leaseforge.jobs import NewJob
from leaseforge.operations import Durability
from leaseforge.requests import new_job
from leaseforge.store import connect, connect_sync
from tests.support.audit import audit
from tests.support.cluster import BINARIES, server_binary, start_low
from tests.support.waiting import eventually_sync

REPLICATED = Durability.REPLICATED


@pytest.fixture(scope="module", params=sorted(BINARIES))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, ...]]:
    """A primary and its replica, in step."""
    folder, binary = tmp_path_factory.mktemp("pair"), server_binary(request.param)
    with ExitStack() as stack:
        servers = [start_low(folder / name, binary, {"repl-diskless-sync-delay": "0"}) for name in ("one", "other")]
        for server in servers:
            stack.callback(server.stop)
        primary, replica = servers
        with redis.Redis(port=replica.port or 0) as client:
            client.replicaof("127.0.0.1", primary.port)
            eventually_sync(lambda: client.info("replication")["master_link_status"] == "up", within_s=30)
        yield primary, replica


@pytest.fixture
def primary(pair: tuple[EmbeddedServer, EmbeddedServer]) -> EmbeddedServer:
    with redis.Redis(port=pair[0].port or 0) as client:
        client.flushall()
        eventually_sync(lambda: client.wait(1, 1000) == 1, within_s=30)
    return pair[0]


@contextmanager
def stalled(server: EmbeddedServer) -> Iterator[None]:
    """The server's process stands still meanwhile."""
    assert server.pid is not None
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def count_jobs(server: EmbeddedServer) -> int:
    with redis.Redis(port=server.port or 0) as client:
        return len(audit(client, "line").records)


def a_job() -> NewJob:
    return new_job("work", queue="line", idempotency_key="order-7")


async def test_with_a_replica_it_is_done(pair: tuple[Any, Any], primary: EmbeddedServer) -> None:
    async with connect(primary.url) as store:
        stored = await store.run(operations.enqueue(a_job(), durability=REPLICATED))

    assert stored.answer is Answer.CREATED
    assert count_jobs(pair[1]) == 1


def test_with_a_replica_it_is_done_for_sync_programs_too(pair: tuple[Any, Any], primary: EmbeddedServer) -> None:
    jobs = [a_job(), new_job("work", queue="line")]
    with connect_sync(primary.url) as store:
        stored = store.run(operations.enqueue_many(jobs, durability=REPLICATED))

    assert [one.answer for one in stored] == [Answer.CREATED, Answer.CREATED]
    assert count_jobs(pair[1]) == 2


async def test_a_stalled_replica_leaves_the_outcome_open_and_the_same_request_finds_the_job(
    pair: tuple[Any, EmbeddedServer], primary: EmbeddedServer
) -> None:
    job = a_job()
    async with connect(primary.url) as store:
        with stalled(pair[1]):
            with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
                await store.run(operations.enqueue(job, durability=REPLICATED))

            local = await store.run(operations.enqueue(job))
        again = await store.run(operations.enqueue(job, durability=REPLICATED))

    assert (local.answer, again.answer, again.id) == (Answer.DUPLICATE, Answer.DUPLICATE, job.id)
    assert count_jobs(primary) == 1


def test_a_stalled_replica_leaves_the_outcome_open_for_sync_programs_too(
    pair: tuple[Any, EmbeddedServer], primary: EmbeddedServer
) -> None:
    job = a_job()
    with connect_sync(primary.url) as store:
        with stalled(pair[1]), pytest.raises(StoreUnavailable, match="unknown"):
            store.run(operations.enqueue(job, durability=REPLICATED))
        again = store.run(operations.enqueue(job, durability=REPLICATED))

    assert again.answer is Answer.DUPLICATE
    assert count_jobs(primary) == 1


async def test_many_wait_for_the_replica_at_once(pair: tuple[Any, Any], primary: EmbeddedServer) -> None:
    """More callers than connections wait their turn; none is refused."""
    jobs = [new_job("work", queue="line") for _ in range(40)]
    async with connect(primary.url, connections=4) as store:
        stored = await asyncio.gather(*(store.run(operations.enqueue(job, durability=REPLICATED)) for job in jobs))

    assert {one.answer for one in stored} == {Answer.CREATED}
    assert count_jobs(primary) == 40
