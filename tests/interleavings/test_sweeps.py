"""What happens by time alone, against everybody: promotion, trimming, wake tokens, the office of adding up."""

from typing import Any

import pytest

from leaseforge import exchanges, operations, statistics
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from tests.support.flow_worker import FlowWorker
from tests.support.interleaving import Run, TurnStore
from tests.support.live_queue import LiveQueue
from tests.support.races import Race, job_number

JOB, SECOND = job_number(1), job_number(2)


def schedule(line: LiveQueue) -> None:
    """Two jobs for later, both due now."""
    for job_id in (JOB, SECOND):
        line.add(id=job_id, delay_ms=3_600_000)
    line.make_due(JOB, SECOND)


def test_an_exchange_and_a_tick_promote_each_due_job_once(line: LiveQueue) -> None:
    async def worker(store: TurnStore) -> int:
        hands = FlowWorker(store)
        return len(await hands.claim(2)) + len(await hands.claim(2))

    async def sweeper(store: TurnStore) -> int:
        return sum([(await store.run(exchanges.tick(line.name, limit=1))).promoted for _ in range(2)])

    def judge(run: Run) -> None:
        assert line.count("promoted") == 2
        assert run.answers["worker"] == line.count("claimed")

    Race(line, lambda: schedule(line), {"worker": worker, "sweeper": sweeper}).check(judge)


@pytest.mark.parametrize("verb", ["delete", "cancel"])
def test_promotion_and_an_operator_who_wants_the_job_gone(line: LiveQueue, verb: str) -> None:
    plans = {
        "delete": lambda: operations.delete(JOB),
        "cancel": lambda: operations.cancel(JOB, operation="op-1"),
    }

    async def operator(store: TurnStore) -> Any:
        return await store.attempt(plans[verb]())

    async def worker(store: TurnStore) -> list[str]:
        return [job.id for job in await FlowWorker(store).claim(2)]

    def judge(run: Run) -> None:
        if JOB not in run.answers["worker"]:
            assert run.answers["operator"] == "ok"
            assert JOB not in line.ready()

    Race(line, lambda: schedule(line), {"operator": operator, "worker": worker}).check(judge)


def test_trimming_and_a_late_repeat_of_the_settlement(line: LiveQueue) -> None:
    """A record that is gone answers fenced, one that is there already_done: neither is a second completion."""

    def arrange() -> None:
        line.add(id=JOB)

    async def worker(store: TurnStore) -> list[str]:
        hands = FlowWorker(store)
        [job] = await hands.claim()
        return [await hands.settle(job), await hands.settle(job)]

    async def sweeper(store: TurnStore) -> Any:
        await store.befall(lambda: line.age("completed", [JOB], 25 * 3_600_000))
        await store.befall(line.tick)
        return None

    def judge(run: Run) -> None:
        first, second = run.answers["worker"]
        assert first == "completed"
        assert second == ("already_done" if line.count("trimmed") == 0 or _trim_came_last(run) else "fenced")

    def _trim_came_last(run: Run) -> bool:
        return [flow for flow, _, _ in run.turns][-1] == "sweeper"

    Race(line, arrange, {"worker": worker, "sweeper": sweeper}).check(judge)


def test_a_wake_token_taken_by_a_worker_that_cannot_claim_is_not_lost(line: LiveQueue) -> None:
    """A busy worker took the token; its exchange for nothing, or a tick, puts one there for the others."""

    async def busy(store: TurnStore) -> Any:
        await store.befall(line.take_wake_token)
        return (await FlowWorker(store, run_id="busy").exchange(0)).more

    async def producer(store: TurnStore) -> Any:
        await store.run(operations.enqueue(new_job("work", id=SECOND, queue=line.name)))
        return None

    def judge(run: Run) -> None:
        assert line.take_wake_token()

    Race(line, lambda: line.add(id=JOB), {"busy": busy, "producer": producer}, compare="none").check(judge, outcomes=1)


def test_two_servers_add_statistics_up_once(line: LiveQueue) -> None:
    def adding(holder: str) -> Any:
        async def flow(store: TurnStore) -> bool:
            return await store.run(statistics.add_up(holder=holder, missed_s=0))

        return flow

    def judge(run: Run) -> None:
        assert sorted(run.answers.values()) == [False, True]
        points = line.run(statistics.throughput(seconds=60)).points
        assert sum(point.enqueued for point in points) == 1

    Race(line, lambda: line.add(id=JOB), {"a": adding("a"), "b": adding("b")}, compare="none").check(judge, outcomes=1)


def test_a_delete_between_claim_and_adoption_cannot_happen(line: LiveQueue) -> None:
    """The claim's reply was lost: an operator is refused while it runs, and after the adoption too."""

    async def worker(store: TurnStore) -> Any:
        hands = FlowWorker(store)
        await hands.exchange(1)
        return [job.id for job in (await hands.exchange(1, again=True)).claimed]

    async def operator(store: TurnStore) -> Any:
        return await store.attempt(operations.delete(JOB))

    def judge(run: Run) -> None:
        if run.answers["operator"] == "ok":
            assert run.answers["worker"] == []
        else:
            assert run.answers["worker"] == [JOB]
            assert line.state(JOB) is JobState.RUNNING

    Race(line, lambda: line.add(id=JOB), {"worker": worker, "operator": operator}).check(judge)
