"""Middleware: which hooks run around a handler, in which order, and what their own failures mean."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from leaseforge import Context, Middleware, Registry, task
from leaseforge.tasks import AnyTask, TaskError
from tests.worker.builders import Clock, claimed, held

Notes = list[str]


class Noting(Middleware):
    """Notes its calls; `fails` names a hook that raises."""

    def __init__(self, notes: Notes, name: str, *, fails: str = "") -> None:
        self.notes, self.name, self.fails = notes, name, fails

    def note(self, what: str) -> None:
        self.notes.append(f"{self.name}.{what}")
        if what == self.fails:
            raise LookupError(f"{self.name}.{what} failed")

    def before(self, ctx: Context) -> None:
        self.note("before")

    def after(self, ctx: Context, result: Any) -> None:
        self.note("after")

    def error(self, ctx: Context, error: BaseException) -> None:
        self.note("error")
        self.notes.append(str(error))


class AsyncNoting(Noting):
    async def before(self, ctx: Context) -> None:  # type: ignore[override]  # the base of this test's class is narrower
        await asyncio.sleep(0)
        self.note("before")

    async def after(self, ctx: Context, result: Any) -> None:  # type: ignore[override]  # as above
        await asyncio.sleep(0)
        self.note("after")

    async def error(self, ctx: Context, error: BaseException) -> None:  # type: ignore[override]  # as above
        await asyncio.sleep(0)
        self.note("error")
        self.notes.append(str(error))


@pytest.fixture(params=["def", "async def", "async def, async hooks"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def noting(kind: str) -> type[Noting]:
    return AsyncNoting if "hooks" in kind else Noting


def handler_of(kind: str, notes: Notes, *, fails: bool = False) -> Callable[..., Any]:
    def work(ctx: Context, payload: Any) -> str:
        notes.append(f"handler {payload}")
        if fails:
            raise ValueError("handler failed")
        return "result"

    async def work_on_the_loop(ctx: Context, payload: Any) -> str:
        await asyncio.sleep(0)
        return work(ctx, payload)

    return work if kind == "def" else work_on_the_loop


def context() -> Context:
    job = held(Clock(), claimed())
    return Context(job.claimed, job)


async def call(registry: Registry, one: AnyTask) -> Any:
    result = registry.handler(one.name)(context(), "payload")
    return await result if inspect.isawaitable(result) else result


async def test_hooks_surround_the_handler_the_registrys_outside_the_tasks_own(kind: str) -> None:
    notes: Notes = []
    made = noting(kind)
    one = task(middleware=[made(notes, "c")])(handler_of(kind, notes))
    registry = Registry([one], middleware=[made(notes, "a"), made(notes, "b")])

    assert await call(registry, one) == "result"
    assert notes == [
        *("a.before", "b.before", "c.before"),
        "handler payload",
        *("c.after", "b.after", "a.after"),
    ]


async def test_an_error_goes_outwards_and_stays_what_it_was(kind: str) -> None:
    notes: Notes = []
    made = noting(kind)
    one = task(handler_of(kind, notes, fails=True))
    registry = Registry([one], middleware=[made(notes, "a"), made(notes, "b")])

    with pytest.raises(ValueError, match="handler failed"):
        await call(registry, one)

    assert notes[2:] == ["handler payload", "b.error", "handler failed", "a.error", "handler failed"]


async def test_a_before_that_raises_keeps_the_handler_from_running(kind: str) -> None:
    notes: Notes = []
    made = noting(kind)
    one = task(handler_of(kind, notes))
    registry = Registry([one], middleware=[made(notes, "a"), made(notes, "b", fails="before"), made(notes, "c")])

    with pytest.raises(LookupError, match=r"b\.before failed"):
        await call(registry, one)

    assert notes == ["a.before", "b.before", "a.error", "b.before failed"]


async def test_an_after_that_raises_fails_the_attempt_and_each_is_told_the_end_once(kind: str) -> None:
    notes: Notes = []
    made = noting(kind)
    one = task(handler_of(kind, notes))
    registry = Registry([one], middleware=[made(notes, "a"), made(notes, "b", fails="after"), made(notes, "c")])

    with pytest.raises(LookupError, match=r"b\.after failed"):
        await call(registry, one)

    assert notes[4:] == ["c.after", "b.after", "a.error", "b.after failed"]


async def test_an_error_hook_that_raises_is_logged_and_hides_nothing(kind: str) -> None:
    notes: Notes = []
    made = noting(kind)
    one = task(handler_of(kind, notes, fails=True))
    registry = Registry([one], middleware=[made(notes, "a"), made(notes, "b", fails="error")])

    with structlog.testing.capture_logs() as logs, pytest.raises(ValueError, match="handler failed"):
        await call(registry, one)

    assert notes[3:] == ["b.error", "a.error", "handler failed"]
    [line] = logs
    assert (line["event"], line["middleware"], line["kind"]) == ("middleware_failed", made.__name__, "LookupError")


async def test_a_stop_is_told_as_an_error() -> None:
    notes: Notes = []
    started = asyncio.Event()

    class Ending(Middleware):
        async def error(self, ctx: Context, error: BaseException) -> None:
            await asyncio.sleep(0)
            notes.append(type(error).__name__)

    @task(middleware=[Ending()])
    async def endless(ctx: Context, payload: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(call(Registry([endless]), endless))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert notes == ["CancelledError"]


def test_without_middleware_the_handler_is_the_function_itself() -> None:
    @task
    def plain(ctx: Context, payload: Any) -> None: ...

    assert Registry([plain]).handler("plain") is plain.function


async def test_a_task_that_takes_the_context_alone_is_surrounded_too() -> None:
    notes: Notes = []

    @task(middleware=[Noting(notes, "a")])
    def alone(ctx: Context) -> str:
        return ctx.job_id

    assert isinstance(await call(Registry([alone]), alone), str)
    assert notes == ["a.before", "a.after"]


async def test_one_middleware_given_twice_surrounds_once() -> None:
    notes: Notes = []
    both = Noting(notes, "both")
    one = task(middleware=[both])(handler_of("def", notes))

    await call(Registry([one], middleware=[both]), one)

    assert notes == ["both.before", "handler payload", "both.after"]


def test_async_hooks_around_a_plain_function_are_refused_when_it_is_registered() -> None:
    @task
    def plain(ctx: Context) -> None: ...

    with pytest.raises(TaskError, match=r"task 'plain' is a `def`.*AsyncNoting\.before, AsyncNoting\.after"):
        Registry([plain], middleware=[AsyncNoting([], "a")])


async def test_a_hook_that_hides_a_coroutine_fails_the_attempt_of_a_plain_function() -> None:
    class Hiding(Middleware):
        def before(self, ctx: Context) -> Any:
            return asyncio.sleep(0)

    @task(middleware=[Hiding()])
    def plain(ctx: Context) -> None: ...

    with pytest.raises(TypeError, match="Hiding returned something to await"):
        await call(Registry([plain]), plain)


@pytest.mark.parametrize("given", [Noting, "text", lambda: None])
def test_what_is_no_instance_of_middleware_is_refused(given: Any) -> None:
    with pytest.raises(TaskError, match="middleware takes instances of Middleware"):
        Registry([], middleware=[given])
    with pytest.raises(TaskError, match="task 'plain': middleware takes instances"):

        @task(middleware=[given])
        def plain(ctx: Context) -> None: ...
