"""Producers against workers and each other: unique and idempotency keys hold whatever comes between two calls."""

from dataclasses import replace
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.exchanges import Outcome
from leaseforge.requests import new_job
from tests.support.flow_worker import FlowWorker
from tests.support.interleaving import Run, TurnStore
from tests.support.live_queue import LiveQueue
from tests.support.races import LIVE, Race, job_number

FIRST, SECOND, THIRD = (job_number(number) for number in (1, 2, 3))


def enqueuing(*jobs: Any) -> Any:
    """A flow that enqueues jobs one by one; per job the answer and the id, or what was raised."""

    async def flow(store: TurnStore) -> list[Any]:
        stored = [await store.attempt(operations.enqueue(job)) for job in jobs]
        return [one if isinstance(one, str) else (str(one.answer), one.id) for one in stored]

    return flow


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL])
def test_a_unique_job_is_stored_again_only_when_the_first_has_ended(line: LiveQueue, outcome: Outcome) -> None:
    jobs = [new_job("work", id=job_id, queue=line.name, unique_key="invoice-7") for job_id in (SECOND, THIRD)]

    async def worker(store: TurnStore) -> list[str]:
        hands = FlowWorker(store)
        return [await hands.settle(job, outcome, max_attempts=1) for job in await hands.claim()]

    def judge(run: Run) -> None:
        answers = run.answers["producer"]
        records = line.snapshot().records
        live = [job_id for job_id, record in records.items() if record["state"] in LIVE]
        assert len(live) <= 1
        for answer, job_id in answers:
            assert (answer, job_id) in {("duplicate", FIRST), ("created", SECOND), ("duplicate", SECOND)} or (
                answer == "created" and job_id == THIRD
            )

    flows = {"worker": worker, "producer": enqueuing(*jobs)}
    Race(line, lambda: line.add(id=FIRST, unique_key="invoice-7"), flows).check(judge, outcomes=3)


def test_two_producers_with_one_unique_key_store_one_job(line: LiveQueue) -> None:
    jobs = [new_job("work", id=job_id, queue=line.name, unique_key="k") for job_id in (FIRST, SECOND)]

    def judge(run: Run) -> None:
        [(one, one_id)], [(other, other_id)] = run.answers["one"], run.answers["other"]
        assert {one, other} == {"created", "duplicate"}
        assert one_id == other_id

    Race(line, lambda: None, {"one": enqueuing(jobs[0]), "other": enqueuing(jobs[1])}).check(judge)


def test_a_retried_job_and_a_new_one_with_its_unique_key_do_not_both_live(line: LiveQueue) -> None:
    def arrange() -> None:
        line.add(id=FIRST, unique_key="k")
        line.kill(FIRST)

    async def operator(store: TurnStore) -> Any:
        return await store.attempt(operations.retry(FIRST, operation="op-1"))

    def judge(run: Run) -> None:
        [(answer, _)] = run.answers["producer"]
        assert (run.answers["operator"], answer) in (("ok", "duplicate"), ("UniqueKeyTaken", "created"))

    producer = enqueuing(new_job("work", id=SECOND, queue=line.name, unique_key="k"))
    Race(line, arrange, {"operator": operator, "producer": producer}).check(judge)


def test_a_request_repeated_after_a_lost_reply_makes_one_job_whatever_became_of_it(line: LiveQueue) -> None:
    """The first try was carried out, its answer lost: the second one finds the job, running, completed or deleted."""
    job = new_job("work", id=FIRST, queue=line.name, idempotency_key="order-7")
    repeated = replace(job, id=SECOND)

    async def rest(store: TurnStore) -> Any:
        hands = FlowWorker(store)
        ended = [await hands.settle(claimed) for claimed in await hands.claim()]
        return ended, await store.attempt(operations.delete(FIRST))

    def judge(run: Run) -> None:
        assert run.answers["producer"] == [("created", FIRST), ("duplicate", FIRST)]
        assert line.count("enqueued") == 1

    Race(line, lambda: None, {"producer": enqueuing(job, repeated), "rest": rest}).check(judge)


def test_one_idempotency_key_with_two_bodies_lets_one_in(line: LiveQueue) -> None:
    jobs = [
        new_job("work", number, id=job_id, queue=line.name, idempotency_key="k")
        for number, job_id in enumerate((FIRST, SECOND))
    ]

    def judge(run: Run) -> None:
        answers = [run.answers["one"][0], run.answers["other"][0]]
        assert "IdempotencyConflict" in answers
        assert line.count("enqueued") == 1

    Race(line, lambda: None, {"one": enqueuing(jobs[0]), "other": enqueuing(jobs[1])}).check(judge)
