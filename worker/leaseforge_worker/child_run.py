"""A running attempt as its handler sees it in a child process, and what it says to the worker."""

import asyncio
import os
import socket
import threading
import time

from leaseforge.errors import AttemptEnded
from leaseforge.jobs import NewJob
from leaseforge_worker.follow_ups import FollowUps
from leaseforge_worker.frames import FromChild, Run, Spoken, framed
from leaseforge_worker.words import Words

SAY_EVERY_S = 0.1
"""Words travel at once, and then no more often than this: a handler that says much must not keep its worker busy."""


class Voice:
    """Sends frames to the worker, from any thread. Silent in processes that handlers fork."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._pid = os.getpid()
        # A copy that is left open would keep the worker from seeing the end of this process.
        os.register_at_fork(after_in_child=channel.close)

    @property
    def is_mine(self) -> bool:
        """Whether this is the process the worker started."""
        return os.getpid() == self._pid

    def send(self, message: FromChild) -> None:
        """Sends a frame whole, waiting for room."""
        if self.is_mine:
            data = framed(message)
            with self._lock:
                self._channel.sendall(data)


class ChildRun:
    """One attempt: the state behind its Context. See leaseforge.context.RunState."""

    def __init__(self, run: Run, voice: Voice) -> None:
        self.job = run.job
        self.isolation = run.isolation
        self.lease_until = run.lease_until
        self.trace = run.trace
        self.follow_ups = FollowUps()
        self.cancelled = False
        self.ended = False
        self._words = Words()
        self._voice = voice
        self._spoke_at = 0.0
        self._speaking = threading.Lock()
        self._entering = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None

    @property
    def lease_at_risk(self) -> bool:
        """See RunState."""
        return time.monotonic() >= self.lease_until

    def follow_up(self, job: NewJob) -> None:
        """See RunState."""
        if self.ended:
            raise AttemptEnded(f"the attempt has ended: {job.type!r} cannot follow it any more")
        self.follow_ups.add(job)

    def say_progress(self, percent: int, note: str) -> None:
        """See RunState."""
        self._words.progress(percent, note)
        self._speak_if_due()

    def say_line(self, line: str) -> None:
        """See RunState."""
        self._words.line(line)
        self._speak_if_due()

    def speak(self) -> None:
        """Sends what was said and not sent."""
        with self._speaking:
            said = self._words.message()
            if said is not None:
                self._spoke_at = time.monotonic()
                self._voice.send(Spoken(said.lines, said.progress))
                self._words.told()

    def enter(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[object] | None) -> None:
        """A coroutine handler takes its first step; it may have been stopped before."""
        with self._entering:
            self._loop, self._task = loop, task
            if self.cancelled and task is not None:
                task.cancel()

    def leave(self) -> None:
        """A coroutine handler is done: nothing can cancel it any more."""
        with self._entering:
            self._task = None

    def stop(self) -> None:
        """The attempt is to end: the handler is told, and a coroutine is cancelled."""
        with self._entering:
            self.cancelled = True
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._cancel, self._task)

    def close(self) -> None:
        """The handler is done; what it said last is sent, what it still says does not count."""
        self.ended = True
        self._words.close()
        self.speak()

    def _cancel(self, task: asyncio.Task[object]) -> None:
        if self._task is task:
            task.cancel()

    def _speak_if_due(self) -> None:
        # In time, so that the last words before a crash have left; in a thread that speaks already they will.
        if time.monotonic() - self._spoke_at >= SAY_EVERY_S:
            self.speak()
