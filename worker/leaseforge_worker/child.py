"""A child process of a worker: finds the isolated tasks once, then runs one job after the other.

Its main thread runs the handlers; one more thread listens to the worker, so that what it has to say is heard as long as
the handler lets the interpreter go. It ends when it is killed or when the worker's end of the socket closes.
"""

import asyncio
import contextlib
import contextvars
import ctypes
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any

from leaseforge import logs, tracing
from leaseforge.context import Context
from leaseforge.isolation import Whereabouts
from leaseforge.middleware import Middleware
from leaseforge.places import at
from leaseforge.policies import TaskOptions
from leaseforge.registry import Registry
from leaseforge.settings import read
from leaseforge.tasks import AnyTask, BadPayload, Task, TaskError
from leaseforge.tracing_settings import TracingSettings
from leaseforge_worker import outcomes
from leaseforge_worker.child_limits import Limits, Usage
from leaseforge_worker.child_run import SAY_EVERY_S, ChildRun, Voice
from leaseforge_worker.frames import (
    BadFrame,
    Begin,
    Frames,
    Raised,
    Ready,
    Renewed,
    Returned,
    Run,
    Started,
    StopRun,
    Unfit,
    decode_to_child,
)
from leaseforge_worker.outcomes import Failure

_PR_SET_PDEATHSIG = 1
_M_ARENA_MAX = -8
_READ_BYTES = 256 * 1024
_SPANS_EVERY_MS = 250


def main(fd: int, parent: int) -> None:
    """Serves the worker `parent` over the socket `fd`."""
    _die_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM):
        # Ctrl-C and a service manager's stop are for the worker, which drains. Unlike SIG_IGN this is not passed on
        # to programs that handlers start.
        signal.signal(number, lambda _number, _frame: None)
    Child(socket.socket(fileno=fd)).serve()


def _die_with(parent: int) -> None:
    """Lets the kernel kill this process with its worker, even while C code keeps the interpreter."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        with contextlib.suppress(AttributeError):  # another C library than glibc
            # Else each thread reserves 64 MiB of address space, which is what attempts are measured by.
            libc.mallopt(_M_ARENA_MAX, 1)
    if os.getppid() != parent:
        os._exit(1)


class Child:
    """The main loop of a child process."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._voice = Voice(channel)
        self._frames = Frames()
        self._runs: SimpleQueue[ChildRun] = SimpleQueue()
        self._current: ChildRun | None = None
        self._registry = Registry()
        self._tasks: dict[str, AnyTask] = {}
        self._runner = asyncio.Runner()
        self._context = contextvars.copy_context()

    def serve(self) -> None:
        """Never returns while the worker is there."""
        try:
            begin = self._first()
            if begin.log_level:
                logs.configure(begin.log_level, format=begin.log_format)
            self._registry = _found(begin.tasks)
            self._tasks = {task.name: task for task in self._registry}
            if begin.records:
                # Often: nobody waits for a child to send what it has before it is killed.
                tracing.start(read(TracingSettings, os.environ), "leaseforge-worker", delay_ms=_SPANS_EVERY_MS)
        except BaseException as error:  # whatever an author's module raises, SystemExit too
            self._voice.send(Unfit(_why(error)))
            return
        threading.Thread(target=self._listen, name="worker", daemon=True).start()
        usage = Usage()
        self._voice.send(Ready())
        while True:
            run = self._runs.get()
            end = self._attempt(run, usage)
            self._voice.send(end)

    def _first(self) -> Begin:
        while True:
            for body in self._frames.feed(self._read()):
                message = decode_to_child(body)
                if not isinstance(message, Begin):
                    raise BadFrame(f"the first frame is {type(message).__name__}")
                return message

    def _attempt(self, run: ChildRun, usage: Usage) -> Returned | Raised:
        """One job, from its payload to how it ended."""
        error: BaseException | None = None
        failure: Failure | None = None
        result: Any = None
        limits = Limits(run.isolation)
        try:
            task = self._tasks[run.job.type]
            limits.set()
            self._voice.send(Started())
            try:
                payload = task.decode(run.job.payload)
            except BadPayload as unreadable:
                failure = outcomes.unreadable(unreadable)
            else:
                result, error = self._called(task, run, payload)
        except BaseException as raised:
            error = raised
        finally:
            limits.lift()
        if not self._voice.is_mine:
            os._exit(0 if error is None else 1)  # a process that the handler forked came back from it as well
        run.close()
        worn = isinstance(error, MemoryError) or usage.is_worn(run.isolation)
        body = failure or (outcomes.failure_of(error) if error is not None else outcomes.body_of(result))
        if isinstance(body, Failure):
            return Raised(body.cut(), worn)
        return Returned(body, run.follow_ups.take(), worn)

    def _called(self, task: AnyTask, run: ChildRun, payload: Any) -> tuple[Any, BaseException | None]:
        """What the handler returned or raised, in context variables of its own."""
        context, handler = Context(run.job, run), self._registry.handler(task.name)
        around = self._context.copy() if task.is_async else contextvars.Context()
        around.run(tracing.enter, *run.trace)
        if task.is_async:
            return self._runner.run(_awaited(run, handler, context, payload), context=around)
        return around.run(_plainly, handler, context, payload)

    def _listen(self) -> None:
        """Takes what the worker says; meanwhile passes on what the handler said."""
        try:
            while True:
                run = self._current
                wait_s = None if run is None or run.ended else SAY_EVERY_S
                if not select.select([self._channel], [], [], wait_s)[0]:
                    if run is not None:
                        run.speak()
                    continue
                for body in self._frames.feed(self._read()):
                    self._take(decode_to_child(body))
        except EOFError:
            pass
        except BaseException:  # a handler may have closed what is not its own
            traceback.print_exc()
        finally:
            # Nobody wants anything of this process, or of what its handlers started, any more.
            os.killpg(0, signal.SIGKILL)

    def _take(self, message: Begin | Run | Renewed | StopRun) -> None:
        match message:
            case Run():
                self._current = ChildRun(message, self._voice)
                self._runs.put(self._current)
            case Renewed() if self._current is not None:
                self._current.lease_until = message.lease_until
            case StopRun() if self._current is not None:
                self._current.stop()

    def _read(self) -> bytes:
        data = self._channel.recv(_READ_BYTES)
        if not data:
            raise EOFError("the worker is gone")
        return data


async def _awaited(
    run: ChildRun, handler: Callable[..., Awaitable[Any]], context: Context, payload: Any
) -> tuple[Any, BaseException | None]:
    """A coroutine handler: what it returned, or what it raised. No error leaves this: it would end the loop."""
    run.enter(asyncio.get_running_loop(), asyncio.current_task())
    try:
        return await handler(context, payload), None
    except BaseException as error:
        return None, error
    finally:
        run.leave()


def _plainly(handler: Callable[..., Any], context: Context, payload: Any) -> tuple[Any, BaseException | None]:
    """The same for a plain function."""
    try:
        return handler(context, payload), None
    except BaseException as error:
        return None, error


def _found(tasks: tuple[Whereabouts, ...]) -> Registry:
    """The tasks with what surrounds them, as the worker has them."""
    registry = Registry()
    for one in tasks:
        there = at(one.task)
        if not isinstance(there, Task):
            if not callable(there):
                raise TaskError(f"{one.task} is no task here")
            there = Task(there, name=one.name, options=TaskOptions())
        around = [at(place) for place in one.around]
        registry.add(there, middleware=[layer for layer in around if isinstance(layer, Middleware)])
        if one.name not in registry:
            raise TaskError(f"{one.task} is named '{there.name}' here, not '{one.name}'")
    return registry


def _why(error: BaseException) -> str:
    failure = outcomes.failure_of(error).cut()
    return f"{failure.kind}: {failure.message}"
