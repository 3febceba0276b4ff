"""What a worker without work asks of Redis, counted over ten minutes of a clock that a test moves."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from leaseforge.exchanges import Ticked
from leaseforge.pulse import Pulse
from leaseforge.workers import Registered, WorkerState
from leaseforge_worker.forwarding import Forwarding
from leaseforge_worker.held import HeldJobs
from leaseforge_worker.intake import Intake
from leaseforge_worker.link import Link
from leaseforge_worker.messenger import Messenger
from leaseforge_worker.metrics import Meters
from leaseforge_worker.pool import Pool
from leaseforge_worker.queues import QueueChoice, Turns
from leaseforge_worker.registry import Registration
from leaseforge_worker.renewal import Renewal
from leaseforge_worker.ticker import Ticker
from leaseforge_worker.waiting import Waiting
from tests.worker.builders import Clock

MINUTES_10 = 600.0
LEASE_MS = 10_000


class EmptyRedis:
    """Has nothing for anybody, counts what is asked, and lets a wait take as long as it may."""

    def __init__(self, clock: Clock, workers: int) -> None:
        self.requests: dict[str, int] = {}
        self._clock = clock
        self._workers = workers

    async def run(self, call: Any, /) -> Any:
        return self.answer(call)

    async def run_many(self, calls: Sequence[Any], /) -> list[Any]:
        return [self.answer(call) for call in calls]

    async def wait(self, queues: Sequence[str], *, timeout_s: float) -> str | None:
        self._count("wait")
        self._clock.now += timeout_s
        return None

    def answer(self, call: Any) -> Any:
        self._count(call.script.name)
        if call.script.name == "tick":
            return Ticked(0, 0, 0, 0, None, False)
        assert call.script.name == "register_worker"
        return Registered("", "", {"default": self._workers})

    def _count(self, name: str) -> None:
        self.requests[name] = self.requests.get(name, 0) + 1


class Blocking:
    """The same for the renewal thread."""

    def __init__(self, redis: EmptyRedis) -> None:
        self.run = redis.answer


class Queue:
    """A queue's exchange that has found nothing."""

    queue = "default"

    def consider(self) -> None:
        raise AssertionError("nothing came: there is no reason for an exchange")


class IdleWorker:
    """The loops of a worker that serves one queue and holds nothing, each driven over ten minutes of its own."""

    def __init__(self, *, workers: int = 1) -> None:
        self.clock = Clock()
        self.redis = EmptyRedis(self.clock, workers)
        self._link, self._meters = Link(self.clock), Meters()
        self._registration = Registration(
            store=Blocking(self.redis),
            run_id="w1",
            version="1",
            types=("echo",),
            slots=16,
            period_s=LEASE_MS / 3000,
            queues=lambda: ["default"],
            running=lambda: [],
            state=lambda: WorkerState.RUNNING,
            command=lambda command: None,
            link=self._link,
            meters=self._meters,
            payloads={},
        )

    async def pass_ten_minutes(self) -> dict[str, int]:
        """What was asked of Redis in them, by name."""
        for loop in (self._renew, self._sweep(), self._wait(), self._forward(), self._speak()):
            end = self.clock.now + MINUTES_10
            while self.clock.now < end:
                pause = await loop()
                self.clock.now += pause
        return self.redis.requests

    async def _renew(self) -> float:
        renewal = Renewal(
            store=Blocking(self.redis),
            held=HeldJobs(),
            lease_ms=LEASE_MS,
            lost=lambda job: None,
            cancelled=lambda job: None,
            renewed=lambda: None,
            each_pass=self._registration.run_once,
            link=self._link,
            meters=self._meters,
            pulse=Pulse(self.clock),
            clock=self.clock,
        )
        renewal.run_once()
        self._registration.run_once()
        return LEASE_MS / 3000

    def _sweep(self) -> Callable[[], Awaitable[float]]:
        return Ticker(
            store=self.redis,
            queues=lambda: ["default"],
            consumers=lambda: self._registration.consumers,
            forward=lambda queue: None,
            lease_ms=LEASE_MS,
            backoff_base_ms=1_000,
            backoff_cap_ms=60_000,
            link=self._link,
            meters=self._meters,
            beat=lambda: None,
            clock=self.clock,
        ).run_once

    def _wait(self) -> Callable[[], Awaitable[float]]:
        pool = Pool(
            slots=16,
            batch=200,
            held=HeldJobs(),
            start=lambda job: None,
            refresh=lambda: None,
            give_back=lambda jobs: None,
        )
        intake = Intake(pool, Turns(QueueChoice(("default",))))
        pool.accepting = False
        intake.add(Queue())
        intake.used("default", 1, hungry=False)
        pool.reserved, pool.accepting = 0, True
        intake.feed()
        waiting = Waiting(store=self.redis, intake=intake, woken=lambda queue: None, link=self._link)

        async def turn() -> float:
            await waiting.run_once()
            return 0.0

        return turn

    def _forward(self) -> Callable[[], Awaitable[float]]:
        forwarding = Forwarding(
            store=self.redis, link=self._link, meters=self._meters, beat=lambda: None, clock=self.clock
        )

        async def turn() -> float:
            await forwarding.run_once()
            return 1.0

        return turn

    def _speak(self) -> Callable[[], Awaitable[float]]:
        messenger = Messenger(
            store=self.redis,
            running=lambda: [],
            settle=lambda job: None,
            cancelled=lambda job: None,
            lost=lambda job: None,
            link=self._link,
            meters=self._meters,
            beat=lambda: None,
            clock=self.clock,
        )

        async def turn() -> float:
            await messenger.run_once()
            return 1.0

        return turn


@pytest.mark.parametrize("workers", [1, 2, 100])
async def test_an_idle_worker_sends_less_than_three_requests_in_two_seconds(workers: int) -> None:
    requests = await IdleWorker(workers=workers).pass_ten_minutes()

    assert requests.keys() == {"wait", "tick", "register_worker"}
    assert requests["wait"] == 300
    assert requests["register_worker"] in (180, 181)
    assert 300 <= requests["tick"] <= 334
    assert sum(requests.values()) < 1.5 * MINUTES_10
