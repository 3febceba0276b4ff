"""Waiting for work: when, over which queues, and what a token leads to."""

import asyncio
from collections.abc import Sequence
from typing import Any

from leaseforge.errors import StoreUnavailable
from leaseforge_worker.held import HeldJobs
from leaseforge_worker.intake import Intake
from leaseforge_worker.link import Link
from leaseforge_worker.pool import Pool
from leaseforge_worker.queues import QueueChoice, Turns
from leaseforge_worker.waiting import Waiting
from tests.support.waiting import eventually
from tests.worker.builders import held


class Queue:
    """A queue's exchange that only counts how often it is asked to consider leaving."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.considered = 0

    @property
    def queue(self) -> str:
        return self.name

    def consider(self) -> None:
        self.considered += 1


class Tokens:
    """A store whose waits are answered by the test."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.waits: list[list[str]] = []

    async def wait(self, queues: Sequence[str], *, timeout_s: float) -> str | None:
        self.waits.append(list(queues))
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer) if answer is not None else None


class Lobby:
    """A waiting loop with an intake of two queues that are known to be empty."""

    def __init__(self, *answers: Any, slots: int = 2) -> None:
        self.store = Tokens(*answers)
        self.pool = Pool(
            slots=slots,
            batch=10,
            held=HeldJobs(),
            start=lambda job: None,
            refresh=lambda: None,
            give_back=lambda jobs: None,
        )
        self.intake = Intake(self.pool, Turns(QueueChoice(("a", "b"))))
        self.queues = [Queue("a"), Queue("b")]
        for queue in self.queues:
            self.intake.add(queue)
        self.woken: list[str] = []
        self.link = Link()
        self.waiting = Waiting(store=self.store, intake=self.intake, woken=self.woken.append, link=self.link)

    def found_empty(self, *names: str) -> None:
        for name in names:
            want = self.intake.grant(name)
            self.intake.used(name, want, hungry=False)
            self.intake.feed()


async def test_the_worker_waits_only_when_every_queue_is_known_to_be_empty() -> None:
    lobby = Lobby()
    assert not lobby.intake.idle.is_set()

    lobby.found_empty("a")
    assert not lobby.intake.idle.is_set()
    assert lobby.queues[1].considered > 0

    lobby.found_empty("b")
    assert lobby.intake.idle.is_set()


async def test_it_waits_over_all_queues_and_tells_whose_token_came() -> None:
    lobby = Lobby("b")
    lobby.found_empty("a", "b")

    await lobby.waiting.run_once()

    assert lobby.store.waits == [["a", "b"]]
    assert lobby.woken == ["b"]


async def test_a_wait_that_times_out_causes_nothing() -> None:
    lobby = Lobby(None)
    lobby.found_empty("a", "b")
    considered = [queue.considered for queue in lobby.queues]

    await lobby.waiting.run_once()

    assert lobby.woken == []
    assert [queue.considered for queue in lobby.queues] == considered
    assert lobby.intake.idle.is_set()


async def test_it_does_not_wait_without_a_free_slot_and_waits_again_when_one_is_free() -> None:
    lobby = Lobby(slots=1)
    lobby.found_empty("a", "b")
    job = held(lambda: 0.0)
    lobby.pool.admit([job])
    lobby.intake.feed()
    assert not lobby.intake.idle.is_set()

    lobby.pool.ended(job)
    lobby.intake.feed()

    assert lobby.intake.idle.is_set()


async def test_a_quiet_worker_does_not_wait_and_a_resumed_one_asks_every_queue() -> None:
    lobby = Lobby()
    lobby.found_empty("a", "b")

    lobby.pool.accepting = False
    lobby.intake.feed()
    assert not lobby.intake.idle.is_set()

    lobby.pool.accepting = True
    lobby.intake.set_all_hungry()
    assert lobby.intake.is_hungry("a")
    assert lobby.intake.is_hungry("b")


async def test_after_an_outage_every_queue_is_asked_because_tokens_may_be_lost() -> None:
    lobby = Lobby(StoreUnavailable("away"))
    lobby.found_empty("a", "b")

    task = asyncio.create_task(lobby.waiting.run())
    await eventually(lambda: lobby.intake.is_hungry("a"))
    task.cancel()

    assert lobby.intake.is_hungry("b")
    assert lobby.link.degraded
