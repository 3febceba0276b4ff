"""Attempts that are ended before their handler is done: timeouts, cancellation, lost leases, drain."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from leaseforge.context import Context
from leaseforge.exchanges import Outcome
from leaseforge.jobs import Options
from leaseforge.tasks import task
from leaseforge_worker import attempt
from leaseforge_worker.held import Stop
from tests.support.waiting import eventually
from tests.worker.runner import Runner


async def test_a_coroutine_over_its_time_is_cancelled_and_fails(running: Callable[..., Runner]) -> None:
    @task(timeout_s=0.02)
    async def forever(ctx: Context) -> None:
        await asyncio.Event().wait()

    runner = running(forever)
    job = runner.start("forever")
    runner.clock.now += 0.02
    settlement = await runner.end(job)

    assert settlement is not None
    assert (settlement.error_kind, settlement.timed_out, job.cancelled) == ("timeout", True, True)
    assert settlement.error_message == "still running after 20 ms"
    assert runner.attempts.abandoned == 0


async def test_the_jobs_own_timeout_wins(running: Callable[..., Runner]) -> None:
    @task(timeout_s=3600)
    async def forever(ctx: Context) -> None:
        await asyncio.Event().wait()

    runner = running(forever)
    job = runner.start("forever", options=Options(timeout_ms=10))
    runner.clock.now += 0.01

    settlement = await runner.end(job)

    assert settlement is not None
    assert settlement.timed_out


async def test_a_handler_that_finishes_although_told_to_stop_has_finished(running: Callable[..., Runner]) -> None:
    @task(timeout_s=0.01)
    async def stubborn(ctx: Context) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "saved what there was"
        return ""

    runner = running(stubborn)
    job = runner.start("stubborn")
    runner.clock.now += 0.01
    settlement = await runner.end(job)

    assert settlement is not None
    assert (settlement.outcome, settlement.result) == (Outcome.COMPLETE, b'"saved what there was"')


async def test_a_thread_over_its_time_fails_at_once_and_is_abandoned(running: Callable[..., Runner]) -> None:
    release, told = threading.Event(), threading.Event()

    @task(timeout_s=0.01)
    def blocks(ctx: Context) -> str:
        release.wait(20)
        if ctx.cancelled:
            told.set()
        return "too late"

    runner = running(blocks, slots=2)
    job = runner.start("blocks")
    runner.clock.now += 0.01
    settlement = await runner.end(job)

    assert settlement is not None
    assert settlement.timed_out
    assert (runner.attempts.abandoned, runner.worn_out) == (1, 0)
    release.set()
    await eventually(lambda: runner.attempts.abandoned == 0)
    assert told.is_set()
    assert runner.ended == [job]


async def test_abandoned_threads_are_replaced_until_as_many_are_gone_as_there_are_slots(
    running: Callable[..., Runner],
) -> None:
    release = threading.Event()

    @task(timeout_s=0.01)
    def blocks(ctx: Context) -> None:
        release.wait(20)

    @task
    def quick(ctx: Context) -> str:
        return "done"

    runner = running(blocks, quick, slots=2)
    for worn_out in (0, 1):
        job = runner.start("blocks")
        runner.clock.now += 0.01
        await runner.end(job)
        assert runner.worn_out == worn_out

    assert (await runner.settlement("quick")).result == b'"done"'
    release.set()
    await eventually(lambda: runner.attempts.abandoned == 0)


async def test_a_coroutine_that_will_not_end_is_given_up_after_a_grace(
    running: Callable[..., Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "GRACE_S", 0.01)
    release = asyncio.Event()

    @task(timeout_s=0.01)
    async def clings(ctx: Context) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    runner = running(clings, slots=2)
    job = runner.start("clings")
    runner.clock.now += 0.01
    await eventually(lambda: job.stop is Stop.TIMEOUT)
    runner.clock.now += 0.01
    settlement = await runner.end(job)

    assert settlement is not None
    assert settlement.timed_out
    assert runner.attempts.abandoned == 1
    release.set()
    await eventually(lambda: runner.attempts.abandoned == 0)


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [(Stop.CANCELLED, Outcome.CANCELLED), (Stop.RELEASED, Outcome.RELEASE), (Stop.FENCED, None)],
)
async def test_a_stopped_coroutine_settles_by_the_reason(
    running: Callable[..., Runner], reason: Stop, outcome: Outcome | None
) -> None:
    @task
    async def forever(ctx: Context) -> None:
        await asyncio.Event().wait()

    runner = running(forever)
    job = runner.start("forever")
    await eventually(lambda: job.entered)
    runner.attempts.stop(job, reason)
    settlement = await runner.end(job)

    assert (settlement.outcome if settlement else None) == outcome


@pytest.mark.parametrize("reason", [Stop.CANCELLED, Stop.RELEASED, Stop.FENCED])
async def test_a_coroutine_stopped_before_its_first_step_settles_too(
    running: Callable[..., Runner], reason: Stop
) -> None:
    steps: list[None] = []

    @task
    async def never(ctx: Context) -> None:
        steps.append(None)

    runner = running(never)
    job = runner.start("never")
    runner.attempts.stop(job, reason)
    await runner.end(job)
    await asyncio.sleep(0)

    assert steps == []


async def test_losing_the_lease_overrides_every_other_reason(running: Callable[..., Runner]) -> None:
    @task
    async def slow_to_stop(ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)

    runner = running(slow_to_stop)
    job = runner.start("slow_to_stop")
    await eventually(lambda: job.entered)
    runner.attempts.stop(job, Stop.CANCELLED)
    runner.attempts.stop(job, Stop.FENCED)
    runner.attempts.stop(job, Stop.RELEASED)

    assert await runner.end(job) is None
    assert job.stop is Stop.FENCED


async def test_an_error_while_stopping_does_not_charge_the_job(running: Callable[..., Runner]) -> None:
    @task
    async def breaks(ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("cannot clean up")

    runner = running(breaks)
    job = runner.start("breaks")
    await eventually(lambda: job.entered)
    runner.attempts.stop(job, Stop.RELEASED)
    settlement = await runner.end(job)

    assert settlement is not None
    assert settlement.outcome is Outcome.RELEASE


async def test_a_cancelled_thread_may_end_by_itself_and_its_result_counts(running: Callable[..., Runner]) -> None:
    @task
    def polite(ctx: Context) -> str:
        while not ctx.cancelled:
            threading.Event().wait(0.001)
        return "stopped early"

    runner = running(polite)
    job = runner.start("polite")
    runner.attempts.stop(job, Stop.CANCELLED)
    settlement = await runner.end(job)

    assert settlement is not None
    assert (settlement.outcome, runner.attempts.abandoned) == (Outcome.COMPLETE, 0)


async def test_a_thread_is_given_up_at_once_when_the_worker_goes(running: Callable[..., Runner]) -> None:
    release = threading.Event()

    @task
    def blocks(ctx: Context) -> None:
        release.wait(20)

    runner = running(blocks)
    job = runner.start("blocks")
    runner.attempts.stop(job, Stop.RELEASED)
    settlement = await runner.end(job)

    assert settlement is not None
    assert settlement.outcome is Outcome.RELEASE
    release.set()
    await eventually(lambda: runner.attempts.abandoned == 0)
