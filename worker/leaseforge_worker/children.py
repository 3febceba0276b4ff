"""The child processes of a worker: which runs what, who is idle, who has to go."""

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog

from leaseforge import events
from leaseforge.isolation import Isolation
from leaseforge.logs import LEVELS
from leaseforge.tasks import Registry
from leaseforge_worker.child_process import ChildProcess
from leaseforge_worker.frames import (
    Begin,
    FromChild,
    Raised,
    Ready,
    Renewed,
    Returned,
    Run,
    Spoken,
    Started,
    StopRun,
    Unfit,
)
from leaseforge_worker.guard import Guard
from leaseforge_worker.held import Held
from leaseforge_worker.outcomes import Failure

log = structlog.get_logger()

IDLE_S = 60.0
"""A child that had nothing to do for so long is ended."""
START_S = 60.0
"""How long a child may take to import its tasks."""
NOT_STARTED = "child_not_started"
_END_S = 1.0
_LONGEST_NEWS_S = 1.0


@dataclass(frozen=True, slots=True)
class Crashed:
    """The child died while it ran the attempt."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class NotStarted:
    """No child could take the attempt up: no fault of its job, but nothing that trying at once would mend."""

    failure: Failure


End = Returned | Raised | Crashed | NotStarted


class _Child:
    """A child and what it is at."""

    def __init__(self) -> None:
        self.process: ChildProcess | None = None
        self.held: Held | None = None
        self.isolation = Isolation()
        self.ready = False
        self.handed_over = False
        self.lease_until = 0.0
        self.unfit = ""
        self.timer: asyncio.TimerHandle | None = None

    def set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = timer


class Children:
    """Runs isolated attempts, each in a child of its own, re-used one after the other. Event loop only.

    `started` is called when a handler begins, `ended` once when it ended, unless the attempt was withdrawn or killed.
    There are never more children than attempts at one time, and so no more than slots.
    """

    def __init__(
        self,
        tasks: Registry,
        *,
        loop: asyncio.AbstractEventLoop,
        started: Callable[[Held], None],
        ended: Callable[[Held, End], None],
    ) -> None:
        """Raises TaskError for a task that no child could find."""
        self._begin = Begin(tasks.whereabouts(), _log_level())
        self._loop = loop
        self._started = started
        self._ended = ended
        self._guard = Guard()
        self._idle: list[_Child] = []
        self._busy: dict[Held, _Child] = {}
        self._dying: set[_Child] = set()
        self._news: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    def submit(self, held: Held, isolation: Isolation) -> None:
        """Runs a job in the child that was idle last, or in a new one."""
        held.isolated = True
        child = self._idle.pop() if self._idle else self._new()
        child.held, child.isolation, child.handed_over = held, isolation, False
        self._busy[held] = child
        if child.process is None:
            self._loop.call_soon(self._give_up, child)
            return
        if child.ready:
            child.set_timer(None)
            self._hand_over(child)
        if self._news is None:
            self._tell_news()

    def stop(self, held: Held) -> bool:
        """Asks the handler to end; False if no handler has begun, and now none will."""
        child = self._busy[held]
        if child.handed_over and child.process is not None:
            child.process.send(StopRun())
            return True
        self._release(child)
        return False

    def kill(self, held: Held) -> None:
        """Ends an attempt with its process and all it started."""
        child = self._busy.get(held)
        if child is not None:
            self._discard(child, "its attempt was to end and did not")

    def close(self) -> None:
        """Kills every child and waits for their end."""
        if self._news is not None:
            self._news.cancel()
        for child in (*self._idle, *self._busy.values()):
            self._discard(child, "the worker ends")
        deadline = time.monotonic() + _END_S
        for child in self._dying:
            if child.process is not None:
                child.process.wait(max(0.0, deadline - time.monotonic()))
        self._guard.close()

    def _new(self) -> _Child:
        child = _Child()
        try:
            child.process = ChildProcess(
                self._begin,
                loop=self._loop,
                guard=self._guard,
                said=lambda message: self._said(child, message),
                gone=lambda: self._gone(child),
            )
        except OSError as error:
            child.unfit = f"the system refuses another process: {error}"
        else:
            child.set_timer(self._loop.call_later(START_S, self._discard_late, child))
        return child

    def _give_up(self, child: _Child) -> None:
        """No process at all."""
        if child.held is not None:
            self._end(child, NotStarted(Failure(NOT_STARTED, child.unfit)))

    def _hand_over(self, child: _Child) -> None:
        held = child.held
        if held is None or child.process is None:
            return
        child.handed_over = True
        child.lease_until = _lease_until(held)
        job = msgspec.structs.replace(held.claimed, token="")  # who runs a handler need not be able to settle its job
        child.process.send(Run(job, child.isolation, child.lease_until))

    def _said(self, child: _Child, message: FromChild) -> None:
        held = child.held
        match message:
            case Ready():
                child.ready = True
                child.set_timer(None)
                if held is not None:
                    self._hand_over(child)
                elif child in self._idle:
                    self._let_idle(child)
            case Unfit():
                child.unfit = message.message
                if child.process is not None:
                    child.process.kill("it cannot find its tasks")
            case _ if held is None or child in self._dying:
                pass
            case Started():
                self._started(held)
            case Spoken():
                for line in message.lines:
                    held.say_line(line)
                if message.progress is not None:
                    held.say_progress(*message.progress)
            case Returned() | Raised():
                if message.worn:
                    self._discard(child, "it has grown")
                else:
                    self._release(child)
                self._ended(held, message)

    def _gone(self, child: _Child) -> None:
        """Its process is dead, and everything it said was heard."""
        child.set_timer(None)
        self._dying.discard(child)
        if child in self._idle:
            self._idle.remove(child)
        held, process = child.held, child.process
        if process is None:
            return
        failure = _what_killed(process, child.isolation)
        if held is None:
            return
        if child.ready:
            self._end(child, Crashed(failure))
        else:
            message = child.unfit or f"it ended before it was ready: {failure.message}"
            self._end(child, NotStarted(Failure(NOT_STARTED, message)))

    def _end(self, child: _Child, end: End) -> None:
        held, child.held = child.held, None
        if held is not None:
            self._busy.pop(held, None)
            if isinstance(end, NotStarted):
                log.error(events.CHILD_NOT_STARTED, reason=end.failure.message)
            self._ended(held, end)

    def _release(self, child: _Child) -> None:
        """The child is free for other jobs."""
        self._detach(child)
        if child.process is not None:
            self._idle.append(child)
            if child.ready:
                self._let_idle(child)

    def _let_idle(self, child: _Child) -> None:
        child.set_timer(self._loop.call_later(IDLE_S, self._discard, child, "it was idle"))

    def _discard(self, child: _Child, why: str) -> None:
        """The child is killed; what becomes of its attempt is not its business any more."""
        self._detach(child)
        child.set_timer(None)
        if child in self._idle:
            self._idle.remove(child)
        if child.process is not None:
            self._dying.add(child)
            child.process.kill(why)

    def _discard_late(self, child: _Child) -> None:
        child.unfit = f"it was not ready within {START_S:g} s"
        if child.process is not None:
            child.process.kill(child.unfit)

    def _detach(self, child: _Child) -> None:
        held, child.held = child.held, None
        if held is not None:
            self._busy.pop(held, None)

    def _tell_news(self) -> None:
        """Tells children how long the leases of their jobs last: renewals go round elsewhere."""
        self._news = None
        if not self._busy:
            return
        for held, child in self._busy.items():
            until = _lease_until(held)
            if child.handed_over and child.process is not None and until > child.lease_until:
                child.lease_until = until
                child.process.send(Renewed(until))
        shortest = min(held.lease_s for held in self._busy)
        self._news = self._loop.call_later(min(shortest / 5, _LONGEST_NEWS_S), self._tell_news)


def _log_level() -> str:
    """The level of this process's log lines, '' unless they are set up by leaseforge.logs."""
    wrapper = structlog.get_config()["wrapper_class"]
    return next((name for name, level in LEVELS.items() if wrapper is structlog.make_filtering_bound_logger(level)), "")


def _lease_until(held: Held) -> float:
    return time.monotonic() + held.confirmed_at + held.lease_s - held.clock()


def _what_killed(process: ChildProcess, isolation: Isolation) -> Failure:
    """A kind that names the signal or exit status, and a message for people."""
    code = process.returncode
    if code is None or (process.killed_for and code == -signal.SIGKILL):
        return Failure("connection_lost", f"the child process was killed: {process.killed_for}")
    if code >= 0:
        return Failure(f"exit_status_{code}", f"the child process ended with exit status {code}")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal_{-code}"
    hint = ""
    if name == "SIGXCPU" and isolation.cpu_s is not None:
        hint = f": its handler used more than {isolation.cpu_s} s of processor time"
    elif name == "SIGKILL":
        hint = ", by the system when memory ran out, or by somebody"
    return Failure(name, f"the child process was killed by {name}{hint}")
