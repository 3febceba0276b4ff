"""A job that speaks and asks for others, run by a real worker process."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from leaseforge.keys import queue_key
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.faults.ledger import Ledger
from tests.faults.workers import Crew, log_lines
from tests.support.live_queue import LiveQueue
from tests.support.processes import Process
from tests.worker.workers import ended, enqueue, the_job, until


@pytest.fixture
def crew(processes: Callable[..., Process], redis_url: str, tmp_path: Path) -> Crew:
    return Crew(processes, redis_url, Ledger(tmp_path))


async def logged(store: Store, job_id: str) -> list[str]:
    return [line.text for line in await store.run(reads.log("default", job_id))]


async def test_a_parents_words_are_kept_and_its_follow_ups_run_in_their_queues(store: Store, crew: Crew) -> None:
    taken = new_job("work", {"ms": 999}, queue="other", idempotency_key="taken", delay_ms=600_000)
    await enqueue(store, taken)
    worker = crew.worker(LEASEFORGE_WORKER_QUEUES="default,other")
    trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"

    payload = {"other": "other", "taken_key": "taken"}
    [parent_id] = await enqueue(store, new_job("fans_out", payload, traceparent=trace))
    parent = await ended(store, parent_id)

    assert parent.state is JobState.COMPLETED
    assert parent.progress is not None
    assert (parent.progress.percent, parent.progress.note) == (100, "")
    own, other, refused = msgspec.json.decode(parent.result or b"")
    for job_id, queue in ((own, "default"), (other, "other")):
        await until(lambda job_id=job_id: is_known(store, job_id))  # type: ignore[misc]  # bound now, not later
        child = await ended(store, job_id)
        assert (child.queue, child.state, child.traceparent) == (queue, JobState.COMPLETED, trace)

    async def told_of_refusal() -> bool:
        return any(refused in line for line in await logged(store, parent_id))

    await until(told_of_refusal)
    lines = await logged(store, parent_id)
    assert [lines[0], lines[1][:15], lines[2]] == ["splitting", "refused: queue:", "done"]
    assert len(lines) == 4
    assert not await is_known(store, refused)
    assert [line["jobs"] for line in log_lines(worker, "follow_ups_refused")] == [1]


async def test_a_failing_parent_keeps_its_words_and_drops_its_follow_ups(
    store: Store, crew: Crew, redis_url: str
) -> None:
    crew.worker(LEASEFORGE_WORKER_QUEUES="default,other")

    [parent_id] = await enqueue(store, new_job("asks_and_fails", {"other": "other"}))
    parent = await ended(store, parent_id)

    assert parent.state is JobState.DEAD
    assert await logged(store, parent_id) == ["about to fail"]
    assert (await store.run(reads.queue("default"))).totals["enqueued"] == 1
    assert "other" not in await store.run(reads.queue_names())
    with LiveQueue(redis_url) as line:
        assert not line.raw.exists(queue_key("default", "outbox"))


async def test_an_attempt_that_speaks_hears_at_once_that_it_was_cancelled(store: Store, crew: Crew) -> None:
    crew.worker(lease_s=60.0)
    [job_id] = await enqueue(store, new_job("speaks_until_cancelled"))

    async def is_heard() -> bool:
        return (await the_job(store, job_id)).progress is not None

    await until(is_heard)
    await store.run(operations.cancel(job_id, operation="stop"))

    assert (await ended(store, job_id)).state is JobState.CANCELLED
    assert (await logged(store, job_id))[-1] == "stopped"


async def is_known(store: Store, job_id: str) -> bool:
    queues = await store.run(reads.queue_names())
    found = [await store.run(reads.job_call(queue, job_id)) for queue in queues]
    return any(job is not None for job in found)
