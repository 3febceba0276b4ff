"""Slots, and the jobs that wait for one."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence

import structlog

from leaseforge import events
from leaseforge_worker.held import Clock, Held, HeldJobs
from leaseforge_worker.pace import Pace

log = structlog.get_logger()

STALLED_S = 0.5
"""A job claimed ahead that waited this long for a slot is given back, so that another worker can run it."""


class Pool:
    """Counts the slots, keeps the jobs that were claimed ahead, and starts them in the order claimed.

    `start` begins an attempt (it may end at once), `refresh` asks for early renewal of leases that
    are too old to start on, `give_back` releases jobs that never started.
    """

    def __init__(
        self,
        *,
        slots: int,
        batch: int,
        held: HeldJobs,
        start: Callable[[Held], None],
        refresh: Callable[[], None],
        give_back: Callable[[Sequence[Held]], None],
        clock: Clock = time.monotonic,
    ) -> None:
        self.slots = slots
        self.batch = batch
        self.accepting = True
        self.running: set[Held] = set()
        self.reserved = 0
        """Jobs asked for by exchanges that are under way."""
        self.pace = Pace()
        self._held = held
        self._start = start
        self._refresh = refresh
        self._give_back = give_back
        self._clock = clock
        self._waiting: deque[Held] = deque()
        self._suspect: dict[Held, None] = {}
        self._starting = False
        self._stall_check: asyncio.TimerHandle | None = None

    @property
    def buffered(self) -> int:
        """Jobs claimed ahead that have not started."""
        return len(self._waiting) + len(self._suspect)

    @property
    def _taken(self) -> int:
        return len(self.running) + self.buffered + self.reserved

    @property
    def depth(self) -> int:
        """How many jobs beyond the slots may be claimed: none while handlers are slow."""
        return min(self.pace.depth(self.slots), 2 * self.batch)

    def room(self) -> int:
        """How many more jobs may be claimed now. Bounded by what is held, so that slow settling slows claiming."""
        if not self.accepting:
            return 0
        depth = self.depth
        unsettled = 4 * self.batch + self.slots - len(self._held) - self.reserved
        return max(0, min(self.slots + depth - self._taken, unsettled))

    def has_free_slot(self) -> bool:
        """Whether a slot is free that nothing claimed or asked for will fill."""
        return self.accepting and self._taken < self.slots

    def is_eager(self) -> bool:
        """Whether it is time to claim: a slot is free, or half of what was claimed ahead has started."""
        return self.has_free_slot() or (self.accepting and self.buffered * 2 <= self.depth and self.room() > 0)

    def admit(self, claimed: Sequence[Held]) -> None:
        """Takes newly claimed jobs in and starts what fits."""
        now = self._clock()
        for held in claimed:
            held.waiting_since = now
        self._waiting.extend(claimed)
        self.start_ready()
        if self._waiting and self._stall_check is None:
            self._watch_for_stall()

    def start_ready(self) -> None:
        """Fills free slots. A job whose lease was confirmed too long ago waits for its renewal instead."""
        if self._starting:
            return  # an attempt that ended at once calls back in here
        self._starting = True
        try:
            while self._waiting and len(self.running) < self.slots:
                held = self._waiting.popleft()
                if held.needs_renewal_first:
                    self._suspect[held] = None
                    self._refresh()
                    continue
                self.running.add(held)
                self._start(held)
        finally:
            self._starting = False

    def ended(self, held: Held) -> None:
        """An attempt ended: its slot is free."""
        self.running.discard(held)
        if held.started_at:
            self.pace.observe(self._clock() - held.started_at)
        self.start_ready()

    def renewed(self) -> None:
        """A renewal went round: jobs that waited for it go back to the front, in the order claimed."""
        fresh = [held for held in self._suspect if not held.needs_renewal_first]
        for held in fresh:
            del self._suspect[held]
        self._waiting.extendleft(reversed(fresh))
        self.start_ready()

    def remove(self, held: Held) -> bool:
        """Takes out a job that has not started; False if it is not waiting here."""
        if held in self._suspect:
            del self._suspect[held]
            return True
        try:
            self._waiting.remove(held)
        except ValueError:
            return False
        return True

    def take_waiting(self) -> list[Held]:
        """Takes out everything that has not started."""
        waiting = [*self._suspect, *self._waiting]
        self._suspect.clear()
        self._waiting.clear()
        return waiting

    def close(self) -> None:
        """Stops watching the buffer."""
        if self._stall_check is not None:
            self._stall_check.cancel()

    def _watch_for_stall(self) -> None:
        self._stall_check = asyncio.get_running_loop().call_later(STALLED_S, self._check_for_stall)

    def _check_for_stall(self) -> None:
        """Gives back what was claimed ahead in the hope of fast handlers and then met slow ones."""
        self._stall_check = None
        if self._waiting and len(self.running) >= self.slots:
            waited = self._clock() - self._waiting[0].waiting_since
            if waited >= STALLED_S:
                stalled = list(self._waiting)
                self._waiting.clear()
                self.pace.stalled(waited)
                log.info(events.BUFFER_GIVEN_BACK, jobs=len(stalled), waited_s=round(waited, 3))
                self._give_back(stalled)
        if self._waiting:
            self._watch_for_stall()
