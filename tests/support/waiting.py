"""Waiting for something to become true, with a deadline instead of a sleep."""

import asyncio
import inspect
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

Value = TypeVar("Value")


@overload
async def eventually(
    condition: Callable[[], Awaitable[Value]], *, within_s: float = ..., every_s: float = ...
) -> Value: ...
@overload
async def eventually(condition: Callable[[], Value], *, within_s: float = ..., every_s: float = ...) -> Value: ...
async def eventually(condition: Callable[[], Any], *, within_s: float = 10.0, every_s: float = 0.02) -> Any:
    """Call the condition (plain or async) until its answer is truthy, and return that answer.

    An AssertionError inside the condition counts as "not yet" and is shown when time is up; other errors pass through.
    """
    deadline = time.monotonic() + within_s
    while True:
        failure: AssertionError | None = None
        try:
            answer = condition()
            value = await answer if inspect.isawaitable(answer) else answer
            if value:
                return value
        except AssertionError as error:
            failure = error
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {within_s:g} s: {_name(condition)}") from failure
        await asyncio.sleep(every_s)


def eventually_sync(condition: Callable[[], Value], *, within_s: float = 10.0, every_s: float = 0.02) -> Value:
    """The same for tests without an event loop."""
    deadline = time.monotonic() + within_s
    while True:
        failure: AssertionError | None = None
        try:
            value = condition()
            if value:
                return value
        except AssertionError as error:
            failure = error
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {within_s:g} s: {_name(condition)}") from failure
        time.sleep(every_s)


def free_port() -> int:
    """A loopback port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _name(condition: Callable[[], object]) -> str:
    """Where the condition is written, for the failure message."""
    code = getattr(condition, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(condition)
