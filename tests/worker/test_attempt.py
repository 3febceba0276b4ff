"""One attempt: which settlement each way of ending leads to."""

import asyncio
import contextvars
import sys
from collections.abc import Callable
from typing import Any

import pytest

from leaseforge.context import Context
from leaseforge.exchanges import Outcome
from leaseforge.jobs import Backoff, Options
from leaseforge.limits import MAX_RESULT_BYTES
from leaseforge.policies import Policy
from leaseforge.tasks import AnyTask, PermanentFailure, task
from tests.worker.runner import Runner


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


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError("mine")])
async def test_whatever_a_handler_raises_stays_its_own_failure(
    running: Callable[..., Runner], kind: str, error: BaseException
) -> None:
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


async def test_handlers_do_not_see_each_others_context_variables(running: Callable[..., Runner], kind: str) -> None:
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

    assert set(runner.meters.handlers.series) == {"t"}
