"""Operators against workers: whatever is clicked while a job runs, both are told the truth and nothing is torn."""

from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.flow_worker import FlowWorker
from tests.support.interleaving import Run, TurnStore
from tests.support.live_queue import LiveQueue
from tests.support.races import Race, job_number
from tests.support.waiting import eventually_sync

JOB, SECOND, THIRD = (job_number(number) for number in (1, 2, 3))


def working(outcome: Outcome = Outcome.COMPLETE, *, run_id: str = "flow", renews: bool = False) -> Any:
    """A flow that claims one job and settles it."""

    async def flow(store: TurnStore) -> list[str]:
        hands = FlowWorker(store, run_id=run_id)
        ended: list[str] = []
        for job in await hands.claim():
            if renews:
                ended += await hands.renew(job)
            ended.append(await hands.settle(job, outcome, max_attempts=3, delay_ms=60_000))
        return ended

    return flow


def acting(*plans: Any) -> Any:
    """A flow of operations, each made when it is begun; answers what each answered or raised."""

    async def flow(store: TurnStore) -> list[Any]:
        return [await store.attempt(plan()) for plan in plans]

    return flow


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.FAIL, Outcome.RELEASE])
def test_delete_and_a_worker(line: LiveQueue, outcome: Outcome) -> None:
    """Deleted before it is claimed or after it has ended; while it runs the operator is refused."""

    def judge(run: Run) -> None:
        [deleted], ended = run.answers["operator"], run.answers["worker"]
        assert deleted in ("ok", "InvalidTransition")
        assert "fenced" not in ended
        assert (JOB in line.snapshot().records) == (deleted != "ok")

    flows = {"worker": working(outcome), "operator": acting(lambda: operations.delete(JOB))}
    Race(line, lambda: line.add(id=JOB), flows).check(judge)


def test_retry_and_a_worker_that_claims(line: LiveQueue) -> None:
    """A dead job put back can be claimed at once; the same click again does nothing."""

    def arrange() -> None:
        line.add(id=JOB)
        line.kill(JOB)

    def judge(run: Run) -> None:
        assert run.answers["operator"] == ["ok", "already_done"]
        assert line.count("replayed") == 1
        assert line.state(JOB) is (JobState.COMPLETED if run.answers["worker"] else JobState.READY)

    retry = lambda: operations.retry(JOB, operation="op-1")  # noqa: E731 - the same click, twice
    race = Race(line, arrange, {"worker": working(), "operator": acting(retry, retry)})
    race.check(judge)


def test_retry_and_a_worker_that_fails_the_job_again(line: LiveQueue) -> None:
    """Two operators retry while a worker kills the job: each retry meets a dead job, or is refused."""

    def arrange() -> None:
        line.add(id=JOB)
        line.kill(JOB)

    async def worker(store: TurnStore) -> list[str]:
        hands = FlowWorker(store)
        return [await hands.settle(job, Outcome.FAIL, permanent="broken") for job in await hands.claim()]

    def judge(run: Run) -> None:
        answers = [*run.answers["one"], *run.answers["two"]]
        assert answers.count("ok") == line.count("replayed")
        assert set(answers) <= {"ok", "InvalidTransition"}

    flows = {
        "worker": worker,
        "one": acting(lambda: operations.retry(JOB, operation="op-1")),
        "two": acting(lambda: operations.retry(JOB, operation="op-2")),
    }
    Race(line, arrange, flows).check(judge)


def test_pause_and_a_worker_that_claims(line: LiveQueue) -> None:
    """Once pause has answered, no claim succeeds until resume has begun; what runs is settled meanwhile."""

    def arrange() -> None:
        for job_id in (JOB, SECOND, THIRD):
            line.add(id=job_id)

    async def worker(store: TurnStore) -> list[str]:
        hands = FlowWorker(store)
        seen = []
        for _ in range(3):
            answer = await hands.exchange(1)
            seen.append(str(answer.status))
            if answer.claimed:
                seen.append(await hands.settle(answer.claimed[0]))
        return seen

    def judge(run: Run) -> None:
        paused = False
        for _, name, answer in run.turns:
            if name == "exchange" and paused:
                assert not answer.claimed
                assert answer.status == "paused" or answer.settled
            paused = {"pause": True, "resume": False}.get(name, paused)

    flows = {
        "worker": worker,
        "operator": acting(lambda: operations.pause(line.name), lambda: operations.resume(line.name)),
    }
    Race(line, arrange, flows).check(judge)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_cancel_and_a_worker(line: LiveQueue, outcome: Outcome) -> None:
    """A running job's worker hears of it; what completed first counts, anything else ends cancelled."""

    def judge(run: Run) -> None:
        [cancelled], ended = run.answers["operator"], run.answers["worker"]
        state = line.state(JOB)
        if cancelled == "InvalidTransition":
            assert ended[-1] in ("completed", "cancelled")
            assert state == ended[-1]
        else:
            assert cancelled == "ok"
            assert state is (JobState.COMPLETED if "completed" in ended else JobState.CANCELLED)
        if ended[:1] == ["cancelled"]:
            assert ended[1] == ("completed" if outcome is Outcome.COMPLETE else "cancelled")
        assert line.field(JOB, "cancel_requested") is None

    flows = {
        "worker": working(outcome, renews=True),
        "operator": acting(lambda: operations.cancel(JOB, operation="op-1")),
    }
    Race(line, lambda: line.add(id=JOB), flows).check(judge)


def test_cancel_and_a_lost_lease(line: LiveQueue) -> None:
    """A job that is to stop and whose worker died is cancelled, never run again."""

    async def sweeper(store: TurnStore) -> Any:
        await store.befall(lambda: line.expire(JOB))
        await store.befall(line.tick)
        return None

    def judge(run: Run) -> None:
        order = [name for _, name, _ in run.turns]
        if order.index("cancel") < order.index("tick") and "<lambda>" in order[: order.index("tick")]:
            assert line.state(JOB) is JobState.CANCELLED

    def arrange() -> None:
        line.add(id=JOB)
        line.claim_one()

    flows = {"sweeper": sweeper, "operator": acting(lambda: operations.cancel(JOB, operation="op-1"))}
    Race(line, arrange, flows).check(judge)


def test_a_lowered_cap_and_two_workers(line: LiveQueue) -> None:
    """Once the cap's change has answered, no claim goes beyond it; what runs already runs on."""

    def arrange() -> None:
        for number in range(1, 5):
            line.add(id=job_number(number))

    def judge(run: Run) -> None:
        running, cap = 0, 1_000_000
        for _, name, answer in run.turns:
            if name == "configure":
                cap = 1
            elif name == "exchange":
                running -= sum(state is not None for state in answer.states)
                assert not answer.claimed or running + len(answer.claimed) <= cap
                running += len(answer.claimed)

    async def first(store: TurnStore) -> int:
        hands = FlowWorker(store)
        for job in await hands.claim(1):
            await hands.settle(job)
        return len(await hands.claim(2))

    async def second(store: TurnStore) -> int:
        hands = FlowWorker(store, run_id="w2")
        return len(await hands.claim(1)) + len(await hands.claim(1))

    flows = {
        "first": first,
        "second": second,
        "operator": acting(lambda: operations.configure(line.name, {"max_running": 1})),
    }
    Race(line, arrange, flows).check(judge)


def test_a_raised_cap_wakes_a_worker(line: LiveQueue) -> None:
    """Whatever order the claim and the change come in, the job that is left has a token or a worker."""

    def arrange() -> None:
        for number in (1, 2):
            line.add(id=job_number(number))
        line.run(operations.configure(line.name, {"max_running": 1}))
        line.take_wake_token()

    async def worker(store: TurnStore) -> int:
        return len(await FlowWorker(store).claim(2))

    def judge(run: Run) -> None:
        assert run.answers["worker"] == 2 or line.take_wake_token()

    flows = {"worker": worker, "operator": acting(lambda: operations.configure(line.name, {"max_running": 2}))}
    Race(line, arrange, flows).check(judge)


def test_purge_and_a_worker_that_gives_a_job_back(line: LiveQueue) -> None:
    """What the operator was shown goes, except what a worker had; nothing that became ready later goes."""

    async def operator(store: TurnStore) -> int:
        seen = await store.run(reads.queue(line.name))
        # What the operator saw is frozen to the millisecond.
        eventually_sync(lambda: line.now_ms() > seen.as_of_ms, every_s=0.0005)
        await store.befall(lambda: line.add(id=THIRD))
        purged = await store.run(operations.purge(line.name, sequence=seen.sequence, as_of_ms=seen.as_of_ms))
        return purged.removed

    def judge(run: Run) -> None:
        records = line.snapshot().records
        assert THIRD in records
        assert run.answers["operator"] == 3 - len(records)
        order = [name for _, name, _ in run.turns]
        held = [job.id for _, name, answer in run.turns if name == "exchange" for job in answer.claimed]
        if held == [JOB] and order.index("exchange") > order.index("read_queue"):
            assert set(records) == {JOB, THIRD}
        elif held != [JOB]:
            assert set(records) == {THIRD}

    def arrange() -> None:
        for job_id in (JOB, SECOND):
            line.add(id=job_id)

    Race(line, arrange, {"worker": working(Outcome.RELEASE), "operator": operator}, compare="none").check(judge)


def test_requeue_and_a_sweep_that_trims(line: LiveQueue) -> None:
    """A completed job is requeued, or gone for good before: never half of it."""

    def arrange() -> None:
        line.add(id=JOB)
        line.settle(line.claim_one(), Outcome.COMPLETE, result=b"1")
        line.age("completed", [JOB], 25 * 3_600_000)

    async def sweeper(store: TurnStore) -> Any:
        await store.befall(line.tick)
        return None

    def judge(run: Run) -> None:
        [answer] = run.answers["operator"]
        assert answer in ("ok", "JobNotFound")
        assert (JOB in line.snapshot().records) == (answer == "ok")

    flows = {"sweeper": sweeper, "operator": acting(lambda: operations.requeue(JOB, operation="op-1"))}
    Race(line, arrange, flows).check(judge)


@pytest.mark.parametrize("rival", ["delete", "cancel", "retry", "requeue"])
def test_two_operators_at_one_dead_job(line: LiveQueue, rival: str) -> None:
    def arrange() -> None:
        line.add(id=JOB)
        line.kill(JOB)

    other = {
        "delete": lambda: operations.delete(JOB),
        "cancel": lambda: operations.cancel(JOB, operation="op-2"),
        "retry": lambda: operations.retry(JOB, operation="op-2", payload=b"[2]"),
        "requeue": lambda: operations.requeue(JOB, operation="op-2"),
    }[rival]
    flows = {"one": acting(lambda: operations.retry(JOB, operation="op-1")), "other": acting(other)}
    Race(line, arrange, flows).check()
