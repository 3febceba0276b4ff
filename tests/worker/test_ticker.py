"""Sweeping: how often, in which order, and what an error in one queue does to the others."""

import asyncio
from typing import Any

from structlog.testing import capture_logs

from leaseforge.errors import ScriptFault, StoreUnavailable
from leaseforge.exchanges import Ticked
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.ticker import Ticker
from tests.support.waiting import eventually
from tests.worker.builders import Clock, ScriptedStore

QUIET = Ticked(0, 0, 0, 0, None, False)
FULL = Ticked(200, 0, 0, 0, None, True)


def due_in(ms: int) -> Ticked:
    return Ticked(0, 0, 0, 0, ms, False)


class Sweeper:
    """A ticker over a scripted store."""

    def __init__(
        self,
        *answers: Any,
        queues: tuple[str, ...] = ("a",),
        workers: int = 1,
        lease_ms: int = 60_000,
        draw: float = 0.0,
    ) -> None:
        self.clock = Clock()
        self.store = ScriptedStore(*answers)
        self.queues = list(queues)
        self.beats = 0
        self.meters = Meters()
        self.forwarded: list[str] = []
        self.link = Link(self.clock)
        self.ticker = Ticker(
            store=self.store,
            queues=lambda: self.queues,
            consumers=lambda: dict.fromkeys(self.queues, workers),
            forward=lambda queue: self.forwarded.append(queue),
            lease_ms=lease_ms,
            backoff_base_ms=1_000,
            backoff_cap_ms=60_000,
            link=self.link,
            meters=self.meters,
            beat=self._beat,
            clock=self.clock,
            draw=lambda: draw,
        )

    def _beat(self) -> None:
        self.beats += 1

    async def work_on(self, seconds: float, *, claims: bool = False) -> int:
        """Lets so much time pass; how many calls were made in it. `claims`: a job is claimed at each look."""
        before, end = len(self.store.calls), self.clock.now + seconds
        while self.clock.now < end:
            self.meters.claimed += claims
            self.clock.now += await self.ticker.run_once()
        return len(self.store.calls) - before

    def swept(self) -> list[str]:
        return [call.keys[0][1] for call in self.store.calls]


async def test_workers_sweep_a_queue_as_often_as_their_number_asks_for() -> None:
    assert await Sweeper(*[QUIET] * 70).work_on(60, claims=True) == 60
    assert await Sweeper(*[QUIET] * 70, workers=2).work_on(60, claims=True) == 30
    assert await Sweeper(*[QUIET] * 70, workers=50).work_on(60, claims=True) == 30


async def test_a_queue_without_work_costs_a_lone_worker_a_call_each_two_seconds() -> None:
    assert await Sweeper(*[QUIET] * 700).work_on(600) == 300
    assert await Sweeper(*[due_in(3_600_000)] * 700).work_on(600) == 300
    assert await Sweeper(*[QUIET] * 700, draw=0.999).work_on(600) <= 334


async def test_work_of_its_own_ends_the_calm_within_a_second() -> None:
    """A job that fails at once may have to be retried before the next calm sweep."""
    sweeper = Sweeper(QUIET, due_in(400), QUIET)
    assert await sweeper.ticker.run_once() == 1.0

    sweeper.meters.ended("retrying")
    sweeper.clock.now += 1.0
    pause = await sweeper.ticker.run_once()

    assert (len(sweeper.store.calls), round(pause, 3)) == (2, 0.4)


async def test_a_sweep_that_found_something_is_followed_by_the_next_as_usual() -> None:
    for found in (Ticked(1, 0, 0, 0, None, False), Ticked(0, 0, 1, 0, None, False)):
        sweeper = Sweeper(found, QUIET)
        await sweeper.work_on(2.0)

        assert len(sweeper.store.calls) == 2


async def test_a_short_lease_is_swept_five_times() -> None:
    assert round(await Sweeper(QUIET, lease_ms=1_000).ticker.run_once(), 6) == 0.2


async def test_jitter_only_shortens_the_interval() -> None:
    pause = await Sweeper(QUIET, draw=0.999, workers=2).ticker.run_once()

    assert 1.7 < pause < 2.0


async def test_a_job_due_soon_is_swept_for_at_its_time() -> None:
    assert round(await Sweeper(due_in(300)).ticker.run_once(), 3) == 0.3


async def test_many_workers_do_not_all_rush_at_one_due_job() -> None:
    assert await Sweeper(due_in(1), workers=50).ticker.run_once() == 1.0


async def test_a_sweep_that_was_full_is_repeated_at_once() -> None:
    sweeper = Sweeper(FULL, FULL, QUIET)

    await sweeper.ticker.run_once()

    assert len(sweeper.store.calls) == 3


async def test_an_endlessly_full_queue_does_not_starve_the_others() -> None:
    sweeper = Sweeper(*[FULL] * 100, QUIET, queues=("a", "b"))

    await sweeper.ticker.run_once()

    assert set(sweeper.swept()[:100]) == {"lf:{a}:guard"}
    assert sweeper.swept()[100] == "lf:{b}:guard"


async def test_only_queues_whose_time_has_come_are_swept() -> None:
    sweeper = Sweeper(due_in(100), QUIET, QUIET, queues=("a", "b"))
    await sweeper.ticker.run_once()

    sweeper.clock.now += 0.1
    await sweeper.ticker.run_once()

    assert sweeper.swept() == ["lf:{a}:guard", "lf:{b}:guard", "lf:{a}:guard"]


async def test_a_new_queue_is_swept_at_once() -> None:
    sweeper = Sweeper(QUIET, QUIET)
    await sweeper.ticker.run_once()

    sweeper.queues.append("new")
    await sweeper.ticker.run_once()

    assert sweeper.swept() == ["lf:{a}:guard", "lf:{new}:guard"]


async def test_follow_ups_that_a_sweep_found_are_told_of() -> None:
    sweeper = Sweeper(QUIET, Ticked(0, 0, 0, 0, None, False, follow_ups=2), queues=("a", "b"))

    await sweeper.ticker.run_once()

    assert sweeper.forwarded == ["b"]


async def test_a_queue_that_cannot_be_swept_does_not_hold_up_the_others() -> None:
    sweeper = Sweeper(ScriptFault("WRONGTYPE"), QUIET, queues=("broken", "fine"))

    with capture_logs() as logs:
        await sweeper.ticker.run_once()

    assert sweeper.swept() == ["lf:{broken}:guard", "lf:{fine}:guard"]
    assert [(line["event"], line["queue"]) for line in logs] == [("sweep_failed", "broken")]


async def test_redis_being_away_pauses_the_sweeps_and_they_go_on_by_themselves() -> None:
    sweeper = Sweeper(StoreUnavailable("away"), *[QUIET] * 100)

    task = asyncio.create_task(sweeper.ticker.run())
    await eventually(lambda: len(sweeper.store.calls) >= 2)
    task.cancel()

    assert not sweeper.link.degraded
    assert sweeper.beats >= 2
