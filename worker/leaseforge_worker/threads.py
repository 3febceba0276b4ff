"""The threads that run `def` handlers: as many as there are slots, each replaceable."""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from leaseforge_worker.held import Held

Deliver = Callable[[Held, Any, BaseException | None], None]
_Work = tuple[Held, Callable[[], Any]]


class Threads:
    """Runs functions of held jobs and delivers what they return or raise on the event loop.

    A thread cannot be stopped from outside. One that overruns is abandoned: it no longer counts,
    a new one takes its place, and it ends by itself when its function returns. All are daemons, so
    that a handler that never returns cannot keep the process alive.
    """

    def __init__(self, *, size: int, loop: asyncio.AbstractEventLoop, deliver: Deliver) -> None:
        self._size = size
        self._loop = loop
        self._deliver = deliver
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._done: deque[tuple[Held, Any, BaseException | None]] = deque()
        self._lock = threading.Lock()
        self._signalled = False
        self._busy = 0
        self._started = 0
        self._serial = 0

    def submit(self, held: Held, function: Callable[[], Any]) -> None:
        """Runs `function` in a thread with contextvars of its own. Event loop only; the caller keeps within `size`."""
        self._busy += 1
        if self._started < min(self._busy, self._size):
            self._started += 1
            self._serial += 1
            threading.Thread(target=self._run, name=f"handler-{self._serial}", daemon=True).start()
        self._work.put((held, function))

    def abandon(self, held: Held) -> bool:
        """Gives up on the thread that runs this job; False if it is done and its result is on the way."""
        with self._lock:
            if held.thread_done:
                return False
            held.abandoned = True
        self._busy -= 1
        self._started -= 1
        return True

    def close(self) -> None:
        """Lets idle threads end; busy ones end with their function, or with the process."""
        for _ in range(self._serial):
            self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            held, function = work
            result: Any = None
            error: BaseException | None = None
            try:
                result = contextvars.Context().run(function)
            except BaseException as raised:  # whatever a handler raises, SystemExit too, is its failure
                error = raised
            with self._lock:
                held.thread_done = True
                abandoned = held.abandoned
            self._report(held, result, error)
            if abandoned:
                return
            del work, held, function, result, error  # keep no job alive while waiting for the next

    def _report(self, held: Held, result: Any, error: BaseException | None) -> None:
        """One wake-up of the loop for all results that gather until it runs."""
        self._done.append((held, result, error))
        with self._lock:
            if self._signalled:
                return
            self._signalled = True
        try:
            self._loop.call_soon_threadsafe(self._collect)
        except RuntimeError:  # the loop is closed: the process ends and the job is recovered elsewhere
            return

    def _collect(self) -> None:
        with self._lock:
            self._signalled = False
        while self._done:
            held, result, error = self._done.popleft()
            if not held.abandoned:
                self._busy -= 1
            self._deliver(held, result, error)
