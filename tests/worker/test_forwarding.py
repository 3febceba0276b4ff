"""Forwarding follow-ups: when, for how long, and what a queue in trouble does to the others."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from leaseforge import outbox
from leaseforge.calls import Plan
from leaseforge.errors import ScriptFault, StoreUnavailable
from leaseforge.outbox import Forwarded
from leaseforge_worker.forwarding import EVERY_S, Forwarding
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from tests.support.waiting import eventually
from tests.worker.builders import Clock

NOTHING = Forwarded(0, 0, 0)


class Office:
    """A forwarding loop over a store that answers each queue's rounds from a list, then with nothing left.

    The last sweeps found follow-ups in a and in b.
    """

    def __init__(self, **answers: list[Any]) -> None:
        self.clock = Clock()
        self.answers = answers
        self.rounds: list[str] = []
        self.link = Link(self.clock)
        self.beats = 0
        self.forwarding = Forwarding(
            store=self,
            link=self.link,
            meters=Meters(),
            beat=self._beat,
            clock=self.clock,
            draw=lambda: 0.0,
        )
        self.sweeps_find_follow_ups()

    def sweeps_find_follow_ups(self) -> None:
        for queue in ("a", "b"):
            self.forwarding.left(queue)

    def _beat(self) -> None:
        self.beats += 1

    async def run(self, plan: Plan[Forwarded], /) -> Forwarded:
        queue = next(plan).keys[0][1].split("{")[1].split("}")[0]  # type: ignore[union-attr]  # the first is a Call
        plan.close()
        self.rounds.append(queue)
        answers = self.answers.get(queue, [])
        answer = answers.pop(0) if answers else NOTHING
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Forwarded)
        return answer


async def test_an_outbox_in_which_a_sweep_found_follow_ups_is_emptied_every_five_seconds() -> None:
    office = Office()

    for _ in range(2):
        await office.forwarding.run_once()
    office.sweeps_find_follow_ups()
    await office.forwarding.run_once()
    assert office.rounds == ["a", "b"]
    office.clock.now += EVERY_S
    await office.forwarding.run_once()

    assert office.rounds == ["a", "b"] * 2


async def test_without_follow_ups_nothing_is_asked_of_redis() -> None:
    office = Office()
    await office.forwarding.run_once()

    for _ in range(100):
        office.clock.now += EVERY_S
        await office.forwarding.run_once()

    assert office.rounds == ["a", "b"]


async def test_a_queue_that_was_asked_for_is_emptied_at_once() -> None:
    office = Office(b=[NOTHING, Forwarded(16, 0, 9), Forwarded(8, 1, 0)])
    task = asyncio.create_task(office.forwarding.run())
    await eventually(lambda: office.rounds == ["a", "b"])

    with capture_logs() as logs:
        office.forwarding.soon("b")
        assert office.forwarding.is_busy
        await eventually(lambda: not office.forwarding.is_busy)

    assert office.rounds == ["a", "b", "b", "b"]
    assert [(entry["event"], entry["jobs"]) for entry in logs] == [("follow_ups_refused", 1)]
    assert office.beats >= 3
    task.cancel()


async def test_follow_ups_whose_queue_cannot_take_them_wait_for_the_next_round_and_are_told_once() -> None:
    office = Office(a=[Forwarded(1, 0, 3), Forwarded(0, 0, 3), Forwarded(0, 0, 3)])

    with capture_logs() as logs:
        await office.forwarding.run_once()
        office.sweeps_find_follow_ups()
        office.clock.now += EVERY_S
        await office.forwarding.run_once()

    assert office.rounds == ["a", "a", "b", "a", "b"]
    assert [(entry["event"], entry["queue"], entry["jobs"]) for entry in logs] == [("follow_ups_stuck", "a", 3)]


async def test_an_endless_outbox_lets_the_other_queues_have_their_turn() -> None:
    office = Office(a=[Forwarded(16, 0, 1000)] * 60)

    await office.forwarding.run_once()

    assert office.rounds == [*["a"] * 50, "b"]
    assert office.forwarding.is_busy


async def test_a_queue_that_is_away_is_asked_again_and_does_not_hold_up_the_others() -> None:
    office = Office(a=[StoreUnavailable("away")])

    with pytest.raises(StoreUnavailable):
        await office.forwarding.run_once()
    assert office.rounds == ["a", "b"]
    assert office.link.degraded
    await office.forwarding.run_once()

    assert office.rounds == ["a", "b", "a"]
    assert not office.link.degraded


async def test_a_script_that_fails_in_one_queue_is_logged_and_the_others_go_on() -> None:
    office = Office(a=[ScriptFault("wrong type")])

    with capture_logs() as logs:
        await office.forwarding.run_once()

    assert office.rounds == ["a", "b"]
    assert [(entry["event"], entry["queue"]) for entry in logs] == [("forwarding_failed", "a")]


def test_a_target_whose_script_fails_keeps_its_follow_ups_in_the_outbox() -> None:
    plan = outbox.forward("a")
    next(plan)
    entry = outbox._Waiting("parent", "b", ("id", "next", b"", 0, 0, b""))
    plan.send((1, [entry]))

    with pytest.raises(StopIteration) as ended:
        plan.throw(ScriptFault("wrong type"))

    assert ended.value.value == Forwarded(0, 0, 1)
