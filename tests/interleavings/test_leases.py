"""Workers against sweeps: leases end, replies are lost, zombies come back, and each job is still settled once."""

from typing import Any

import pytest

from leaseforge import exchanges
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome
from tests.support.flow_worker import FlowWorker
from tests.support.interleaving import Run, TurnStore
from tests.support.live_queue import LEASE_MS, LiveQueue
from tests.support.races import Race, job_number

JOB = job_number(1)
ENDS = {
    "complete": "completed",
    "fail": "retrying",
    "crash": "retrying",
    "release": "ready",
    "cancelled": "cancelled",
}


def sweep(line: LiveQueue, *, times: int = 1) -> Any:
    """A flow in which leases end and a tick comes by."""

    async def flow(store: TurnStore) -> list[int]:
        recovered = []
        for _ in range(times):
            await store.befall(lambda: line.expire(JOB))
            recovered.append((await store.run(exchanges.tick(line.name))).recovered)
        return recovered

    return flow


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_worker_and_a_tick_settle_or_recover_a_job_but_never_both(line: LiveQueue, outcome: Outcome) -> None:
    async def worker(store: TurnStore) -> Any:
        hands = FlowWorker(store)
        claimed = await hands.claim()
        return [await hands.settle(job, outcome, max_attempts=3, delay_ms=60_000) for job in claimed]

    def judge(run: Run) -> None:
        [settled], recovered = run.answers["worker"], sum(run.answers["sweeper"])
        assert settled in (ENDS[outcome], "fenced")
        assert (settled == "fenced") == (recovered == 1)
        assert line.count("fenced") == recovered

    Race(line, lambda: line.add(id=JOB), {"worker": worker, "sweeper": sweep(line)}).check(judge)


def test_a_renewal_in_time_keeps_the_job_and_one_too_late_is_fenced(line: LiveQueue) -> None:
    async def worker(store: TurnStore) -> Any:
        hands = FlowWorker(store)
        [job] = await hands.claim()
        return await hands.renew(job), await hands.settle(job)

    def judge(run: Run) -> None:
        [renewed], settled = run.answers["worker"]
        assert (renewed, settled) in (("ok", "completed"), ("ok", "fenced"), ("fenced", "fenced"))
        order = [name for _, name, _ in run.turns]
        if order.index("<lambda>") < order.index("renew") < order.index("tick"):
            assert settled == "completed" or sum(run.answers["sweeper"]) == 0

    Race(line, lambda: line.add(id=JOB), {"worker": worker, "sweeper": sweep(line)}).check(judge)


def test_two_sweepers_handle_each_expiry_once(line: LiveQueue) -> None:
    def arrange() -> None:
        for number in (1, 2):
            line.add(id=job_number(number))
        line.claim(2)
        line.expire(job_number(1), job_number(2))

    async def sweeper(store: TurnStore) -> int:
        recovered = 0
        for _ in range(3):
            recovered += (await store.run(exchanges.tick(line.name, limit=1))).recovered
        return recovered

    def judge(run: Run) -> None:
        assert run.answers["one"] + run.answers["other"] == 2 == line.count("recovered")

    Race(line, arrange, {"one": sweeper, "other": sweeper}, compare="state").check(judge, outcomes=1)


def test_a_zombie_and_the_new_owner_never_both_complete(line: LiveQueue) -> None:
    """The first worker falls silent with the job, a second one gets it, the first comes back."""

    async def zombie(store: TurnStore) -> Any:
        hands = FlowWorker(store, run_id="zombie")
        claimed = await hands.claim()
        return [(await hands.renew(job), await hands.settle(job)) for job in claimed]

    async def heir(store: TurnStore) -> Any:
        hands = FlowWorker(store, run_id="heir")
        await store.befall(lambda: line.expire(JOB))
        await store.run(exchanges.tick(line.name))
        return [await hands.settle(job) for job in await hands.claim()]

    def judge(run: Run) -> None:
        accepted = [ended for _, ended in run.answers["zombie"]] + run.answers["heir"]
        assert accepted.count("completed") <= 1
        assert line.count("completed") == accepted.count("completed")
        if "completed" in run.answers["heir"]:
            assert all(ended == "fenced" for _, ended in run.answers["zombie"])

    Race(line, lambda: line.add(id=JOB), {"zombie": zombie, "heir": heir}).check(judge, outcomes=3)


def test_two_workers_share_the_jobs_without_a_double(line: LiveQueue) -> None:
    def arrange() -> None:
        for number in (1, 2, 3):
            line.add(id=job_number(number))

    def worker(run_id: str) -> Any:
        async def flow(store: TurnStore) -> list[str]:
            hands = FlowWorker(store, run_id=run_id)
            held = [*await hands.claim(), *await hands.claim(2)]
            assert all([await hands.settle(job) == "completed" for job in held])
            return [job.id for job in held]

        return flow

    def judge(run: Run) -> None:
        assert sorted(run.answers["a"] + run.answers["b"]) == [job_number(n) for n in (1, 2, 3)]

    Race(line, arrange, {"a": worker("a"), "b": worker("b")}).check(judge)


@pytest.mark.parametrize("want_more", [False, True])
def test_a_lost_reply_is_asked_for_again_while_the_lease_ends(line: LiveQueue, want_more: bool) -> None:
    """The claim's answer never arrives; the same number is sent again, before or after the job was taken back."""

    def arrange() -> None:
        line.add(id=JOB)
        if want_more:
            line.add(id=job_number(2))

    async def worker(store: TurnStore) -> Any:
        hands = FlowWorker(store)
        await hands.exchange(1)
        answer = await hands.exchange(1, again=True)
        ended = [await hands.settle(job) for job in answer.claimed]
        return answer.status, ended

    def judge(run: Run) -> None:
        status, ended = run.answers["worker"]
        # The number was used, so nothing new is claimed under it, whatever became of the first claim.
        assert status is Answer.ALREADY_DONE
        assert len(ended) <= 1
        assert line.count("claimed") == 1
        if sum(run.answers["sweeper"]) == 0:
            assert ended == ["completed"]

    Race(line, arrange, {"worker": worker, "sweeper": sweep(line)}).check(judge)


def test_a_lost_reply_to_a_settlement_is_asked_for_again_while_another_worker_works(line: LiveQueue) -> None:
    async def worker(store: TurnStore) -> Any:
        hands = FlowWorker(store)
        ended = []
        for job in await hands.claim():
            ended.append(await hands.settle(job, Outcome.FAIL, max_attempts=3, delay_ms=0))
            hands.number -= 1
            ended.append(await hands.settle(job, Outcome.FAIL, max_attempts=3, delay_ms=0))
        return ended

    async def other(store: TurnStore) -> Any:
        hands = FlowWorker(store, run_id="w2")
        return [await hands.settle(job) for _ in range(2) for job in await hands.claim()]

    def judge(run: Run) -> None:
        # The second failure of the same attempt is never charged, even when the job has moved on meanwhile.
        assert run.answers["worker"] in ([], ["retrying", "already_done"], ["retrying", "fenced"])
        assert line.count("failed") == len(run.answers["worker"]) // 2

    Race(line, lambda: line.add(id=JOB), {"worker": worker, "other": other}).check(judge)


def test_a_copy_of_an_exchange_that_arrives_late_claims_nothing_that_nobody_holds(line: LiveQueue) -> None:
    """The connection timed out, but what was sent on it is carried out in the end, whenever that is."""

    def arrange() -> None:
        for number in (1, 2, 3):
            line.add(id=job_number(number))

    async def worker(store: TurnStore) -> int:
        hands = FlowWorker(store)
        await hands.exchange(1)
        held = [*(await hands.exchange(1, again=True)).claimed, *await hands.claim()]
        assert all([await hands.settle(job) == "completed" for job in held])
        return len(held)

    async def network(store: TurnStore) -> Any:
        copy = exchanges.exchange(line.name, run_id="flow", number=1, lease_ms=LEASE_MS, want=1)
        return len((await store.run(copy)).claimed)

    def judge(run: Run) -> None:
        assert run.answers["worker"] == 2
        assert not line.snapshot().sets["running"]

    Race(line, arrange, {"worker": worker, "network": network}).check(judge)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_whole_life_of_a_job_against_sweeps_at_every_moment(line: LiveQueue) -> None:
    """Two workers claim, renew and fail or complete what they get while its lease ends again and again."""

    async def workers(store: TurnStore) -> list[Any]:
        ended: list[Any] = []
        for run_id, outcome in (("one", Outcome.FAIL), ("two", Outcome.COMPLETE)):
            hands = FlowWorker(store, run_id=run_id)
            for job in await hands.claim():
                ended += [await hands.renew(job), await hands.settle(job, outcome, max_attempts=2, delay_ms=0)]
        return ended

    def judge(run: Run) -> None:
        settled = [answer for answer in run.answers["workers"] if isinstance(answer, str)]
        assert settled.count("completed") == line.count("completed") <= 1
        assert settled.count("retrying") == line.count("failed") <= 1
        assert settled.count("fenced") + sum(
            renewed == ("fenced",) for renewed in run.answers["workers"]
        ) == line.count("fenced")
        assert sum(run.answers["sweeper"]) == line.count("recovered")

    flows = {"workers": workers, "sweeper": sweep(line, times=3)}
    race = Race(line, lambda: line.add(id=JOB), flows)
    race.check(judge, outcomes=5)

    assert race.schedules > 400
