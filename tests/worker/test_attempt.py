"""One attempt: which settlement each way of ending leads to."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from leaseforge.context import Context
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import Backoff, Options
from leaseforge.limits import MAX_RESULT_BYTES
from leaseforge.tasks import AnyTask, PermanentFailure, Policy, Registry, task
from leaseforge_worker import attempt
from leaseforge_worker.attempt import Attempts
from leaseforge_worker.held import Held, Stop
from leaseforge_worker.metrics import Meters
from tests.support.waiting import eventually
from tests.worker.builders import Clock, claimed, held


class Runner:
    """Attempts over the given tasks, and what they ended with."""

    def __init__(self, *tasks: AnyTask, slots: int = 4, defaults: Policy | None = None) -> None:
        self.clock = Clock()
        self.ended: list[Held] = []
        self.worn_out = 0
        self.meters = Meters(types=frozenset(one.name for one in tasks))
        self.attempts = Attempts(
            Registry(tasks),
            defaults or Policy(),
            slots=slots,
            ended=self.ended.append,
            worn_out=self._wear,
            meters=self.meters,
            clock=self.clock,
        )

    def _wear(self) -> None:
        self.worn_out += 1

    def start(self, type: str, payload: bytes = b"null", options: Options | None = None, **facts: Any) -> Held:
        job = held(self.clock, claimed(type, payload=payload, options=options, **facts))
        self.attempts.start(job)
        return job

    async def end(self, job: Held) -> Settlement | None:
        await eventually(lambda: job in self.ended)
        assert self.ended.count(job) == 1
        return job.settlement

    async def settlement(self, type: str, payload: bytes = b"null", **facts: Any) -> Settlement:
        settlement = await self.end(self.start(type, payload, **facts))
        assert settlement is not None
        return settlement


@pytest.fixture
async def running() -> AsyncIterator[Callable[..., Runner]]:
    """Makes runners whose timers and threads end with the test."""
    runners: list[Runner] = []

    def make(*tasks: AnyTask, **options: Any) -> Runner:
        runners.append(Runner(*tasks, **options))
        return runners[-1]

    yield make
    for one in runners:
        one.attempts.close()


@pytest.fixture(params=["async def", "def"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def as_task(kind: str, function: Callable[..., Any], **options: Any) -> AnyTask:
    """The function as a task of the asked kind."""
    if kind == "def":
        return task(name="t", **options)(function)

    async def handler(ctx: Context, payload: Any) -> Any:
        return function(ctx, payload)

    return task(name="t", **options)(handler)


@pytest.mark.parametrize(
    ("result", "body"),
    [
        (None, b""),
        (b"\x00\xff", b"\x00\xff"),
        (bytearray(b"x"), b"x"),
        ({"a": [1, None]}, b'{"a":[1,null]}'),
        ("ü", '"ü"'.encode()),
        (0, b"0"),
        (b"x" * MAX_RESULT_BYTES, b"x" * MAX_RESULT_BYTES),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_what_a_handler_returns_is_the_result(
    running: Callable[..., Runner], kind: str, result: Any, body: bytes
) -> None:
    settlement = await running(as_task(kind, lambda ctx, payload: result)).settlement("t")

    assert (settlement.outcome, settlement.result) == (Outcome.COMPLETE, body)


@pytest.mark.parametrize(
    ("result", "error_kind"),
    [
        (b"x" * (MAX_RESULT_BYTES + 1), "result_too_large"),
        ("x" * MAX_RESULT_BYTES, "result_too_large"),
        (object(), "bad_result"),
        ({"when": {1, object()}}, "bad_result"),
    ],
    ids=["bytes", "text", "object", "nested"],
)
async def test_a_result_that_cannot_be_kept_is_a_failure(
    running: Callable[..., Runner], kind: str, result: Any, error_kind: str
) -> None:
    settlement = await running(as_task(kind, lambda ctx, payload: result)).settlement("t")

    assert (settlement.outcome, settlement.error_kind, settlement.result) == (Outcome.FAIL, error_kind, b"")


async def test_a_plain_function_that_returns_a_coroutine_is_told_to_be_async(running: Callable[..., Runner]) -> None:
    async def forgotten() -> None: ...

    settlement = await running(as_task("def", lambda ctx, payload: forgotten())).settlement("t")

    assert settlement.error_kind == "bad_result"
    assert "async def" in settlement.error_message


async def test_the_handler_gets_its_payload_and_the_facts_of_its_job(running: Callable[..., Runner], kind: str) -> None:
    seen: list[Any] = []

    def handler(ctx: Context, payload: Any) -> None:
        seen.extend([payload, ctx.job_id, ctx.attempt, ctx.fence, ctx.payload, ctx.cancelled, ctx.lease_at_risk])
        seen.append(ctx.job)

    runner = running(as_task(kind, handler))
    job = runner.start("t", b'{"a":1}', attempt=3, tags=("x",))
    await runner.end(job)

    fact = job.claimed
    assert seen[:7] == [{"a": 1}, fact.id, 3, fact.fence, b'{"a":1}', False, False]
    assert (seen[7].id, seen[7].queue, seen[7].tags, seen[7].created_at.year) == (fact.id, "default", ("x",), 2023)


async def test_a_task_may_take_the_context_alone(running: Callable[..., Runner]) -> None:
    @task
    async def alone(ctx: Context) -> str:
        return ctx.job.type

    @task
    def alone_in_a_thread(ctx: Context) -> str:
        return ctx.job.type

    runner = running(alone, alone_in_a_thread)

    assert (await runner.settlement("alone", b"not json")).result == b'"alone"'
    assert (await runner.settlement("alone_in_a_thread", b"not json")).result == b'"alone_in_a_thread"'


async def test_an_error_is_a_failure_with_its_kind_message_and_own_frames(
    running: Callable[..., Runner], kind: str
) -> None:
    def handler(ctx: Context, payload: Any) -> None:
        raise LookupError("no such customer")

    settlement = await running(as_task(kind, handler)).settlement("t")

    assert (settlement.outcome, settlement.permanent, settlement.timed_out) == (Outcome.FAIL, "", False)
    assert (settlement.error_kind, settlement.error_message) == ("LookupError", "no such customer")
    assert "no such customer" in settlement.traceback
    assert "in handler" in settlement.traceback
    assert "leaseforge_worker" not in settlement.traceback


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError("mine"), GeneratorExit()])
async def test_whatever_a_handler_raises_stays_its_own_failure(
    running: Callable[..., Runner], kind: str, error: BaseException
) -> None:
    if kind == "async def" and isinstance(error, GeneratorExit):
        pytest.skip("Python itself closes coroutines with it")

    def handler(ctx: Context, payload: Any) -> None:
        raise error

    settlement = await running(as_task(kind, handler)).settlement("t")

    assert (settlement.outcome, settlement.error_kind) == (Outcome.FAIL, type(error).__name__)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


async def test_an_error_without_a_readable_message_still_settles(running: Callable[..., Runner], kind: str) -> None:
    def handler(ctx: Context, payload: Any) -> None:
        raise Unprintable

    settlement = await running(as_task(kind, handler)).settlement("t")

    assert settlement.error_kind == "Unprintable"
    assert "cannot be read" in settlement.error_message


async def test_the_traceback_of_a_deep_recursion_is_short(running: Callable[..., Runner], kind: str) -> None:
    def deeper(n: int) -> int:
        return deeper(n + 1) + 1

    settlement = await running(as_task(kind, lambda ctx, payload: deeper(sys.getrecursionlimit() // 2))).settlement("t")

    assert settlement.error_kind == "RecursionError"
    assert len(settlement.traceback) < 8192


async def test_a_permanent_failure_spends_the_whole_budget(running: Callable[..., Runner], kind: str) -> None:
    def handler(ctx: Context, payload: Any) -> None:
        raise PermanentFailure("no such address")

    settlement = await running(as_task(kind, handler)).settlement("t")

    assert (settlement.outcome, settlement.permanent, settlement.error_message) == (
        Outcome.FAIL,
        "permanent",
        "no such address",
    )


async def test_an_unknown_type_is_an_ordinary_failure(running: Callable[..., Runner]) -> None:
    settlement = await running().settlement("nobody.knows")

    assert (settlement.outcome, settlement.error_kind, settlement.permanent) == (Outcome.FAIL, "unknown_type", "")
    assert (settlement.max_attempts, 1 <= settlement.delay_ms <= 1000) == (3, True)


async def test_a_payload_that_cannot_be_read_is_a_permanent_failure(running: Callable[..., Runner], kind: str) -> None:
    calls: list[None] = []
    runner = running(as_task(kind, lambda ctx, payload: calls.append(None)))

    settlement = await runner.settlement("t", b"{oops")

    assert (settlement.error_kind, settlement.permanent, calls) == ("bad_payload", "bad_payload", [])


async def test_the_jobs_options_win_over_the_tasks_and_those_over_the_products(running: Callable[..., Runner]) -> None:
    def handler(ctx: Context, payload: Any) -> None:
        raise ValueError

    fixed = {"backoff": "fixed", "backoff_base_s": 7.0}
    runner = running(as_task("async def", handler, max_attempts=5, **fixed))

    by_task = await runner.settlement("t")
    by_job = await runner.settlement("t", options=Options(max_attempts=0, backoff_base_ms=20))

    assert (by_task.max_attempts, by_task.delay_ms) == (5, 7_000)
    assert (by_job.max_attempts, by_job.delay_ms) == (0, 20)


async def test_the_pause_grows_with_the_failures_before(running: Callable[..., Runner]) -> None:
    defaults = Policy(backoff=Backoff.EXPONENTIAL, backoff_base_ms=1_000_000, backoff_cap_ms=8_000_000)
    runner = running(defaults=defaults)

    pauses = [(await runner.settlement("none", failures=3)).delay_ms for _ in range(30)]

    assert max(pauses) > 1_000_000
    assert max(pauses) <= 8_000_000


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


async def test_handlers_do_not_see_each_others_context_variables(running: Callable[..., Runner], kind: str) -> None:
    import contextvars

    variable = contextvars.ContextVar("variable", default="clean")
    seen: list[str] = []

    def handler(ctx: Context, payload: Any) -> None:
        seen.append(variable.get())
        variable.set("dirty")

    runner = running(as_task(kind, handler), slots=1)
    await runner.settlement("t")
    await runner.settlement("t")

    assert seen == ["clean", "clean"]


async def test_run_times_are_counted_by_type_and_unknown_types_share_one_series(
    running: Callable[..., Runner], kind: str
) -> None:
    runner = running(as_task(kind, lambda ctx, payload: None))
    await runner.settlement("t")
    for number in range(3):
        await runner.settlement(f"unknown-{number}")

    assert set(runner.meters.handlers) == {"t"}
