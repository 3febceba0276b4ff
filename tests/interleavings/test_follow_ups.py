"""Follow-ups on their way to another queue: several workers forward the same outbox, and each job arrives once."""

from collections.abc import Iterator
from typing import Any

import pytest

from leaseforge import operations, outbox, reads
from leaseforge.exchanges import Outcome
from leaseforge.requests import new_job
from tests.support.flow_worker import FlowWorker
from tests.support.interleaving import Run, TurnStore
from tests.support.live_queue import LiveQueue
from tests.support.races import Race, job_number

PARENT, CHILD, OTHER = (job_number(number) for number in (1, 2, 3))


@pytest.fixture
def target(redis_url: str) -> Iterator[LiveQueue]:
    """The queue that follow-ups are for."""
    with LiveQueue(redis_url, "target") as queue:
        yield queue


def complete_with_follow_ups(line: LiveQueue, *ids: str) -> None:
    """A job of `line` completes and asks for further ones in the queue `target`, which has had jobs before."""
    line.raw.hset("lf:{target}:meta", "seq", 0)
    line.add(id=PARENT)
    jobs = tuple(new_job("next", id=job_id, queue="target") for job_id in ids)
    assert line.settle(line.claim_one(), Outcome.COMPLETE, follow_ups=jobs) == "ok"


async def forwarding(store: TurnStore) -> Any:
    return await store.run(outbox.forward("line"))


def test_two_workers_forward_one_outbox(line: LiveQueue, target: LiveQueue) -> None:
    def judge(run: Run) -> None:
        assert line.raw.hlen(line.key("outbox")) == 0
        assert line.count("forwarded") == 2
        assert target.count("enqueued") == 2
        assert sorted(target.ready()) == [CHILD, OTHER]

    Race(
        line,
        lambda: complete_with_follow_ups(line, CHILD, OTHER),
        {"one": forwarding, "other": forwarding},
        compare="state",
        others=(target,),
    ).check(judge, outcomes=1)


def test_a_forwarded_job_that_ran_and_was_deleted_does_not_come_back(line: LiveQueue, target: LiveQueue) -> None:
    """A worker that is slow between reading the outbox and storing what it read repeats nothing."""

    def arrange() -> None:
        complete_with_follow_ups(line, CHILD)

    async def swift(store: TurnStore) -> Any:
        await forwarding(store)
        await store.befall(run_and_delete)

    def run_and_delete() -> None:
        target.settle(target.claim_one(), Outcome.COMPLETE)
        target.run(operations.delete(CHILD))

    def judge(run: Run) -> None:
        assert target.count("enqueued") == 1
        assert not target.snapshot().records

    flows = {"slow": forwarding, "swift": swift}
    Race(line, arrange, flows, compare="none", others=(target,)).check(judge, outcomes=1)


def test_a_follow_up_whose_idempotency_key_is_taken_is_refused_and_noted(line: LiveQueue, target: LiveQueue) -> None:
    """A key used for another job is a refusal for good, whichever queue the follow-up is for."""
    target.add(idempotency_key="order-7")
    line.add(idempotency_key="order-7", priority=-1)
    line.add(id=PARENT)
    jobs = tuple(
        new_job("next", id=job_id, queue=queue, idempotency_key="order-7")
        for job_id, queue in ((CHILD, "target"), (OTHER, "line"))
    )
    line.settle(line.claim_one(), Outcome.COMPLETE, follow_ups=jobs)

    forwarded = line.run(outbox.forward("line"))

    assert (forwarded.moved, forwarded.refused, forwarded.left) == (0, 1, 0)
    assert line.count("follow_ups_refused") == 2
    notes = [entry.text for entry in line.run(reads.log("line", PARENT))]
    assert [note.split(":")[0] for note in notes] == [f"follow-up {OTHER} refused", f"follow-up {CHILD} refused"]
    assert CHILD not in target.snapshot().records
    assert OTHER not in line.snapshot().records


def test_a_parent_settled_again_writes_its_follow_ups_once(line: LiveQueue, target: LiveQueue) -> None:
    """The settlement's reply was lost while another worker already forwards what it wrote."""
    child = new_job("next", id=CHILD, queue="target")
    sibling = new_job("next", id=OTHER, queue="line", delay_ms=60_000)

    async def worker(store: TurnStore) -> list[str]:
        hands = FlowWorker(store)
        [job] = await hands.claim()
        return [await hands.settle(job, follow_ups=(child, sibling)) for _ in range(2)]

    def judge(run: Run) -> None:
        assert run.answers["worker"] == ["completed", "already_done"]
        assert target.count("enqueued") + line.raw.hlen(line.key("outbox")) == 1
        assert line.count("enqueued") == 2

    flows = {"worker": worker, "forwarder": forwarding}
    Race(line, lambda: line.add(id=PARENT), flows, others=(target,)).check(judge)


@pytest.mark.parametrize("by_sweep", [False, True])
def test_a_fenced_completion_writes_no_follow_ups(line: LiveQueue, target: LiveQueue, by_sweep: bool) -> None:
    """Its job was taken back meanwhile, and perhaps given to another worker."""
    child = new_job("next", id=CHILD, queue="target")

    async def worker(store: TurnStore) -> list[str]:
        hands = FlowWorker(store)
        return [await hands.settle(job, follow_ups=(child,)) for job in await hands.claim()]

    async def rest(store: TurnStore) -> Any:
        await store.befall(lambda: line.expire(PARENT))
        await store.befall(line.tick)
        if not by_sweep:
            hands = FlowWorker(store, run_id="w2")
            return [await hands.settle(job, Outcome.FAIL, permanent="broken") for job in await hands.claim()]
        return []

    def judge(run: Run) -> None:
        accepted = run.answers["worker"] == ["completed"]
        assert line.raw.hlen(line.key("outbox")) == accepted

    flows = {"worker": worker, "rest": rest}
    Race(line, lambda: line.add(id=PARENT), flows, others=(target,)).check(judge)
