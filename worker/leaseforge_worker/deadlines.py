"""One timer for the deadlines of everything that runs."""

import asyncio
from collections.abc import Callable

from leaseforge_worker.held import Held


class Deadlines:
    """Calls `expired` for each watched job whose `deadline` (loop-independent monotonic time) has passed.

    A timer per job would cost more than most handlers; this one is set for the earliest deadline
    and looks at what runs only when that is reached.
    """

    def __init__(self, *, loop: asyncio.AbstractEventLoop, expired: Callable[[Held], None]) -> None:
        self._loop = loop
        self._expired = expired
        self._watched: dict[Held, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = float("inf")

    def __len__(self) -> int:
        return len(self._watched)

    def watch(self, held: Held) -> None:
        """Watches a job from now on; again with a new deadline it replaces the old one."""
        self._watched[held] = None
        if held.deadline < self._due:
            self._set(held.deadline, held.clock())

    def forget(self, held: Held) -> None:
        """The job ended. The timer stays: finding out that nothing is due is cheaper than resetting it each time."""
        self._watched.pop(held, None)

    def close(self) -> None:
        """Stops the timer."""
        self._watched.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, due: float, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_later(max(0.0, due - now), self._sweep)

    def _sweep(self) -> None:
        self._due = float("inf")
        self._timer = None
        for held in [held for held in self._watched if held.deadline <= held.clock()]:
            self._watched.pop(held, None)
            self._expired(held)
        if self._watched:
            earliest = min(self._watched, key=lambda held: held.deadline)
            self._set(earliest.deadline, earliest.clock())
