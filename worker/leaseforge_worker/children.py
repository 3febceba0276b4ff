"""The child processes of a worker: which runs what, who is idle, who has to go."""

import asyncio
import time
from collections.abc import Callable

import msgspec
import structlog

from leaseforge import events, logs
from leaseforge.isolation import Isolation
from leaseforge.registry import Registry
from leaseforge_worker.child_ends import NOT_STARTED, Crashed, End, NotStarted, what_killed
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
START_AT_ONCE = 4
"""So many children may be importing their tasks at one time."""
_END_S = 1.0
_LONGEST_NEWS_S = 1.0


class _Child:
    """A child and what it is at."""

    def __init__(self) -> None:
        self.process: ChildProcess | None = None
        self.held: Held | None = None
        self.isolation = Isolation()
        self.ready = False
        self.lease_until = 0.0
        self.unfit = ""
        self.timer: asyncio.TimerHandle | None = None

    def set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = timer

    def send(self, message: Run | Renewed | StopRun) -> None:
        if self.process is not None:
            self.process.send(message)

    def kill(self, why: str) -> None:
        if self.process is not None:
            self.process.kill(why)


class Children:
    """Runs isolated attempts, each in a child of its own, re-used one after the other. Event loop only.

    `started` is called when a handler begins, `ended` once when it ended, unless the attempt was withdrawn or killed.
    An attempt without a child waits for the first that is free or has started. There are never more children than
    there were attempts at one time, and so no more than slots.
    """

    def __init__(
        self,
        tasks: Registry,
        *,
        loop: asyncio.AbstractEventLoop,
        started: Callable[[Held], None],
        ended: Callable[[Held, End], None],
        records: bool = False,
    ) -> None:
        """`records`: children record traces too. Raises TaskError for a task that no child could find."""
        self._begin = Begin(tasks.whereabouts(), *logs.standing(), records)
        self._loop = loop
        self._started = started
        self._ended = ended
        self._guard = Guard()
        self._waiting: dict[Held, Isolation] = {}
        self._starting: set[_Child] = set()
        self._idle: list[_Child] = []
        self._busy: dict[Held, _Child] = {}
        self._dying: set[_Child] = set()
        self._news: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._starting) + len(self._idle) + len(self._busy)

    def submit(self, held: Held, isolation: Isolation) -> None:
        """Runs a job in the child that was idle last, or in the first there is."""
        held.isolated = True
        self._waiting[held] = isolation
        if self._idle:
            self._occupy(self._idle.pop())
        else:
            self._start_some()

    def stop(self, held: Held) -> bool:
        """Asks the handler to end; False if no child has the job, and now none will."""
        if self._waiting.pop(held, None) is not None:
            return False
        self._busy[held].send(StopRun())
        return True

    def kill(self, held: Held) -> None:
        """Ends an attempt with its process and all it started."""
        self._waiting.pop(held, None)
        child = self._busy.get(held)
        if child is not None:
            self._discard(child, "its attempt was to end and did not")

    def close(self) -> None:
        """Kills every child and waits for their end."""
        self._waiting.clear()
        if self._news is not None:
            self._news.cancel()
        for child in (*self._idle, *self._busy.values(), *self._starting):
            self._discard(child, "the worker ends")
        deadline = time.monotonic() + _END_S
        for child in self._dying:
            if child.process is not None:
                child.process.wait(max(0.0, deadline - time.monotonic()))
        self._guard.close()

    # children come and go

    def _start_some(self) -> None:
        """A child for each attempt that waits, but few at a time: imports are work, and the first may serve many."""
        while len(self._starting) < min(len(self._waiting), START_AT_ONCE):
            try:
                self._start_one()
            except OSError as error:
                if not self._starting and not self._busy:  # else those that are at work may take over
                    self._loop.call_soon(self._fail_one, f"the system refuses another process: {error}")
                return

    def _start_one(self) -> None:
        child = _Child()
        child.process = ChildProcess(
            self._begin,
            loop=self._loop,
            guard=self._guard,
            said=lambda message: self._said(child, message),
            gone=lambda: self._gone(child),
        )
        child.set_timer(self._loop.call_later(START_S, self._give_up, child, f"it was not ready within {START_S:g} s"))
        self._starting.add(child)

    def _give_up(self, child: _Child, why: str) -> None:
        """It will never be ready: `_gone` tells."""
        child.unfit = why
        child.kill(why)

    def _fail_one(self, message: str) -> None:
        """A child that was started for an attempt that waits will not come."""
        log.error(events.CHILD_NOT_STARTED, reason=message)
        held = next(iter(self._waiting), None)
        if held is not None:
            del self._waiting[held]
            self._ended(held, NotStarted(Failure(NOT_STARTED, message)))
        self._start_some()

    def _gone(self, child: _Child) -> None:
        """Its process is dead, and everything it said was heard."""
        child.set_timer(None)
        if child in self._dying:
            self._dying.discard(child)
            return
        held = self._detach(child)
        failure = what_killed(child.process, child.isolation)
        if not child.ready:
            self._fail_one(child.unfit or f"it ended before it was ready: {failure.message}")
        elif held is not None:
            self._ended(held, Crashed(failure))
            self._start_some()

    def _discard(self, child: _Child, why: str) -> None:
        """The child is killed; what becomes of its attempt is not its business any more."""
        self._detach(child)
        child.set_timer(None)
        self._dying.add(child)
        child.kill(why)
        self._start_some()

    def _detach(self, child: _Child) -> Held | None:
        """Takes a child out of wherever it is; answers what it ran."""
        held, child.held = child.held, None
        if held is not None:
            del self._busy[held]
        self._starting.discard(child)
        if child in self._idle:
            self._idle.remove(child)
        return held

    # what they do

    def _occupy(self, child: _Child) -> None:
        """Gives a ready child to the attempt that waits longest, or lets it idle."""
        held = next(iter(self._waiting), None)
        if held is None:
            self._idle.append(child)
            child.set_timer(self._loop.call_later(IDLE_S, self._discard, child, "it was idle"))
            return
        child.set_timer(None)
        child.held, child.isolation = held, self._waiting.pop(held)
        self._busy[held] = child
        child.lease_until = _lease_until(held)
        job = msgspec.structs.replace(held.claimed, token="")  # who runs a handler need not be able to settle its job
        child.send(Run(job, child.isolation, child.lease_until, held.trace.carried if held.trace else ("", "")))
        if self._news is None:
            self._tell_news()

    def _said(self, child: _Child, message: FromChild) -> None:
        held = child.held
        match message:
            case _ if child in self._dying:
                pass
            case Ready() if not child.unfit:
                child.ready = True
                self._starting.discard(child)
                self._occupy(child)
                self._start_some()
            case Unfit():
                self._give_up(child, message.message)
            case _ if held is None:
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
                    self._detach(child)
                    self._occupy(child)
                self._ended(held, message)

    def _tell_news(self) -> None:
        """Tells children how long the leases of their jobs last: renewals go round elsewhere."""
        self._news = None
        if not self._busy:
            return
        for held, child in self._busy.items():
            until = _lease_until(held)
            if until > child.lease_until:
                child.lease_until = until
                child.send(Renewed(until))
        shortest = min(held.lease_s for held in self._busy)
        self._news = self._loop.call_later(min(shortest / 5, _LONGEST_NEWS_S), self._tell_news)


def _lease_until(held: Held) -> float:
    return time.monotonic() + held.confirmed_at + held.lease_s - held.clock()
