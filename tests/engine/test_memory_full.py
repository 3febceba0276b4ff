"""A server without memory takes no new jobs, and everything else goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from leaseforge import exchanges, operations, reads, statistics
from leaseforge.answers import Answer
from leaseforge.client import Client
from leaseforge.errors import StoreFull
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.scripts import ENGINE
from tests.support import OwnServer, start_server
from tests.support.live_queue import LiveQueue
from tests.support.sample_calls import PARTS, REPORT, sample_calls


@pytest.fixture(scope="module")
def full_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    own = start_server(tmp_path_factory.mktemp("full"))
    yield own
    own.embedded.stop()


@pytest.fixture
def line(full_server: OwnServer) -> Iterator[LiveQueue]:
    with LiveQueue(full_server.clean_database()) as queue:
        yield queue
        queue.audit()


@contextmanager
def without_memory(line: LiveQueue) -> Iterator[None]:
    """The server has more in memory than it may have, and evicts nothing."""
    line.raw.config_set("maxmemory", 1)
    try:
        yield
    finally:
        line.raw.config_set("maxmemory", 0)


def test_new_jobs_are_refused_and_nothing_of_them_is_left(line: LiveQueue) -> None:
    line.add()
    job = new_job("work", queue=line.name, idempotency_key="k")

    with without_memory(line), line.unchanged(), pytest.raises(StoreFull):
        line.run(operations.enqueue(job))

    assert line.run(operations.enqueue(job)).answer is Answer.CREATED


def test_a_client_hears_it_at_once_however_long_it_would_wait_for_a_server(line: LiveQueue) -> None:
    with Client(line.url, retry_s=3600.0) as client, without_memory(line), pytest.raises(StoreFull):
        client.enqueue("work", queue=line.name)


def test_workers_claim_renew_and_settle(line: LiveQueue) -> None:
    ids = line.add_many(5)

    with without_memory(line):
        claimed = line.claim(5, run_id="w1")
        assert [job.id for job in claimed] == ids
        assert line.renew(*claimed) == (Answer.OK,) * 5
        line.settle(claimed[0], Outcome.COMPLETE, result=b"out")
        line.settle(claimed[1], Outcome.FAIL, error_kind="Broken", error_message="x" * 500, delay_ms=60_000)
        line.settle(claimed[2], Outcome.RELEASE)
        line.settle(claimed[3], Outcome.CANCELLED)
    line.expire(ids[4])
    line.make_due(ids[1])
    with without_memory(line):
        ticked = line.tick()

    assert (ticked.recovered, ticked.promoted) == (1, 1)
    assert [line.state(job_id) for job_id in ids] == ["completed", "ready", "ready", "cancelled", "ready"]
    assert line.job(ids[0]).result == b"out"


def test_operators_pause_replay_delete_and_purge(line: LiveQueue) -> None:
    dead, doomed = line.add(), line.add()
    line.kill(dead)
    line.kill(doomed)
    line.add_many(3)

    with without_memory(line):
        assert line.run(operations.pause(line.name)) is Answer.OK
        assert line.run(operations.resume(line.name)) is Answer.OK
        assert line.run(operations.retry(dead, operation="op")) is Answer.OK
        assert line.run(operations.delete(doomed)) is Answer.OK
        info = line.run(reads.queue(line.name))
        assert line.run(operations.purge(line.name, sequence=info.sequence, as_of_ms=info.as_of_ms)).removed == 4

    assert line.ready() == []


def test_workers_register_and_everything_can_be_looked_at(line: LiveQueue) -> None:
    job_id = line.add()

    with without_memory(line):
        line.store.check()
        assert line.run(exchanges.register_worker(REPORT)).consumers[line.name] == 1
        assert line.run(reads.workers()).total == 1
        assert line.run(reads.job(job_id)).state is JobState.READY
        assert line.run(reads.jobs(line.name, JobState.READY)).total == 1
        assert [info.name for info in line.run(reads.queues())] == [line.name]
        assert line.run(statistics.throughput()).points
        assert line.run(exchanges.deregister_worker("w1", REPORT.queues))


@pytest.mark.parametrize("name", sorted(set(ENGINE.names()) - PARTS - {"enqueue"}))
def test_every_script_but_enqueue_runs_without_memory_though_the_server_never_saw_it(
    line: LiveQueue, name: str
) -> None:
    line.add()
    line.raw.script_flush()

    with without_memory(line):
        line.run(sample_calls()[name])
