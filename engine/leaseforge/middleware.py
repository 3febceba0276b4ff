"""Hooks around handlers: what every attempt of some tasks does before and after, written once."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import structlog

from leaseforge import events
from leaseforge.context import Context

log = structlog.get_logger()

Handler = Callable[[Context, Any], Any]
"""A task with everything around it: takes the context and the decoded payload, whatever the function itself takes."""

HOOKS: Final = ("before", "after", "error")


class Middleware:
    """Base of hooks around handlers: override what you need, with `def` or `async def`.

        class Timing(Middleware):
            def after(self, ctx, result):
                ctx.log(f"{ctx.job.type} is done")

        timing = Timing()

    An instance at the top of a task module surrounds every task of the worker, in order of definition, unless a task
    of the worker names it: `@task(middleware=[timing])` surrounds that task, inside the others. In a program:
    `Registry(tasks, middleware=[...])`. Hooks run where the handler runs, and within its timeout. `async def` hooks
    need `async def` handlers. One instance serves many attempts at once: keep what belongs to one in the handler.
    """

    def before(self, ctx: Context) -> Awaitable[None] | None:
        """Called before the handler, outermost first. Raising ends the attempt with that error."""
        return None

    def after(self, ctx: Context, result: Any) -> Awaitable[None] | None:
        """Called with what the handler returned, innermost first. Raising makes the attempt fail."""
        return None

    def error(self, ctx: Context, error: BaseException) -> Awaitable[None] | None:
        """Called with what the handler or a hook further in raised, innermost first; CancelledError for a stop.

        Whose `before` went well is told the end once: by `after` or by `error`. What this raises is logged only.
        A payload that cannot be decoded never reaches a handler, so that no hook is called either.
        """
        return None


def async_hooks(middleware: Middleware) -> list[str]:
    """The hooks that only an `async def` handler can wait for, as 'Class.hook'."""
    name = type(middleware).__name__
    return [f"{name}.{hook}" for hook in HOOKS if inspect.iscoroutinefunction(getattr(middleware, hook))]


def surrounded(
    function: Callable[..., Any], *, takes_payload: bool, is_async: bool, middleware: Sequence[Middleware]
) -> Handler:
    """The function with its hooks as one callable. Without hooks it is the function itself, so that they cost nothing.

    `middleware` stands outermost first.
    """
    handler: Handler = function if takes_payload else lambda ctx, _payload: function(ctx)
    if not middleware:
        return handler
    return _on_loop(handler, middleware) if is_async else _in_thread(handler, middleware)


def _on_loop(handler: Handler, middleware: Sequence[Middleware]) -> Handler:
    async def run(ctx: Context, payload: Any) -> Any:
        entered: list[Middleware] = []
        try:
            for one in middleware:
                await _settled(one.before(ctx))
                entered.append(one)
            result = await handler(ctx, payload)
            while entered:
                await _settled(entered.pop().after(ctx, result))
        except GeneratorExit:  # the event loop is gone and Python tidies up: nothing can be awaited any more
            raise
        except BaseException as error:
            while entered:
                one = entered.pop()
                try:
                    await _settled(one.error(ctx, error))
                except GeneratorExit:
                    raise
                except BaseException as second:
                    _tell(one, ctx, second)
            raise
        return result

    return run


def _in_thread(handler: Handler, middleware: Sequence[Middleware]) -> Handler:
    def run(ctx: Context, payload: Any) -> Any:
        entered: list[Middleware] = []
        try:
            for one in middleware:
                _refuse_awaitable(one.before(ctx), one)
                entered.append(one)
            result = handler(ctx, payload)
            while entered:
                one = entered.pop()
                _refuse_awaitable(one.after(ctx, result), one)
        except BaseException as error:
            while entered:
                one = entered.pop()
                try:
                    _refuse_awaitable(one.error(ctx, error), one)
                except BaseException as second:
                    _tell(one, ctx, second)
            raise
        return result

    return run


async def _settled(answer: object) -> None:
    """Waits for a hook that is still under way; any other answer of a hook means nothing."""
    if answer is not None and inspect.isawaitable(answer):
        await answer


def _refuse_awaitable(answer: object, middleware: Middleware) -> None:
    """A `def` hook that hides a coroutine is seen only when it is called."""
    if answer is not None and inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError(f"a hook of {type(middleware).__name__} returned something to await around a `def` handler")


def _tell(middleware: Middleware, ctx: Context, error: BaseException) -> None:
    """An error hook that fails must not hide what it was told of."""
    log.error(
        events.MIDDLEWARE_FAILED,
        middleware=type(middleware).__name__,
        job_id=ctx.job_id,
        kind=type(error).__name__,
        exc_info=error,
    )
