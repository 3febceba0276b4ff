"""Loops that outlive crashes, and contact with Redis as the worker sees it."""

import asyncio

import pytest
from structlog.testing import capture_logs

from leaseforge.errors import StoreUnavailable
from leaseforge.pulse import Pulse
from leaseforge_worker.link import Link
from leaseforge_worker.pauses import Pauses
from leaseforge_worker.supervision import supervise
from tests.worker.builders import Clock


async def test_a_crashed_loop_is_logged_and_started_again_after_growing_pauses() -> None:
    runs: list[int] = []
    pauses: list[float] = []

    async def loop() -> None:
        runs.append(len(runs))
        if len(runs) < 4:
            raise ZeroDivisionError("defect")

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    pulse = Pulse()
    with capture_logs() as logs:
        await supervise("tick", loop, pulse, sleep=sleep)

    assert (len(runs), pulse.crashes) == (4, {"tick": 3})
    assert [line["event"] for line in logs] == ["loop_crashed"] * 3
    assert pauses[0] < pauses[1] < pauses[2]


async def test_cancelling_a_supervised_loop_ends_it() -> None:
    task = asyncio.create_task(supervise("wait", asyncio.Event().wait, Pulse()))  # type: ignore[arg-type] # answers True
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_age_of_a_loops_last_sign_of_life_is_known() -> None:
    clock = Clock()
    pulse = Pulse(clock)

    pulse.beat("tick")
    clock.now += 3

    assert pulse.ages_s() == {"tick": 3.0}


def test_an_outage_is_told_once_when_it_begins_and_once_when_it_ends() -> None:
    clock = Clock()
    link = Link(clock)

    with capture_logs() as logs:
        link.worked("tick")
        link.failed("tick", StoreUnavailable("away"))
        link.failed("wait", StoreUnavailable("away"))
        link.failed("tick", StoreUnavailable("away"))
        clock.now += 4
        link.worked("tick")
        assert link.degraded
        link.worked("wait")

    assert [(line["event"], line["part"]) for line in logs] == [("redis_lost", "tick"), ("redis_back", "wait")]
    assert not link.degraded


def test_silence_is_counted_from_the_last_answer() -> None:
    clock = Clock()
    link = Link(clock)
    link.worked("tick")
    clock.now += 2.5

    assert link.silence_s == 2.5


def test_pauses_grow_to_their_bound_and_start_anew_after_success() -> None:
    pauses = Pauses(first_s=0.1, longest_s=1.0, draw=lambda: 1.0)

    assert [pauses.next_s() for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    pauses.reset()
    assert pauses.next_s() == 0.1
