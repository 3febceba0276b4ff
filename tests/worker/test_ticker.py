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
        self.link = Link(self.clock)
        self.ticker = Ticker(
            store=self.store,
            queues=lambda: self.queues,
            consumers=lambda: dict.fromkeys(self.queues, workers),
            lease_ms=lease_ms,
            backoff_base_ms=1_000,
            backoff_cap_ms=60_000,
            link=self.link,
            meters=Meters(),
            beat=self._beat,
            clock=self.clock,
            draw=lambda: draw,
        )

    def _beat(self) -> None:
        self.beats += 1

    def swept(self) -> list[str]:
        return [call.keys[0][1] for call in self.store.calls]


async def test_a_lone_worker_sweeps_each_second_and_several_share_two() -> None:
    assert await Sweeper(QUIET).ticker.run_once() == 1.0
    assert await Sweeper(QUIET, workers=2).ticker.run_once() == 2.0
    assert await Sweeper(QUIET, workers=50).ticker.run_once() == 2.0


async def test_a_short_lease_is_swept_five_times() -> None:
    assert round(await Sweeper(QUIET, lease_ms=1_000).ticker.run_once(), 6) == 0.2


async def test_jitter_only_shortens_the_interval() -> None:
    pause = await Sweeper(QUIET, draw=0.999).ticker.run_once()

    assert 0.7 < pause < 1.0


async def test_a_job_due_soon_is_swept_for_at_its_time() -> None:
    assert round(await Sweeper(due_in(300)).ticker.run_once(), 3) == 0.3


async def test_many_workers_do_not_all_rush_at_one_due_job() -> None:
    assert await Sweeper(due_in(1), workers=50).ticker.run_once() == 1.0


async def test_a_sweep_that_was_full_is_repeated_at_once() -> None:
    sweeper = Sweeper(FULL, FULL, QUIET)

    await sweeper.ticker.run_once()

    assert len(sweeper.store.calls) == 3


async def test_an_endlessly_full_queue_does_not_starve_the_others() -> None:
    sweeper = Sweeper(*[FULL] * 50, QUIET, queues=("a", "b"))

    await sweeper.ticker.run_once()

    assert set(sweeper.swept()[:50]) == {"lf:{a}:guard"}
    assert sweeper.swept()[50] == "lf:{b}:guard"


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
