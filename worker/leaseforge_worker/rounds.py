"""The turns of a loop that has work now and then: at once when it is asked, else when the time has come."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from leaseforge.errors import StoreError
from leaseforge_worker.held import Clock
from leaseforge_worker.pauses import Pauses


class Rounds:
    """When a loop has its next round. While Redis is away it pauses, longer and longer, up to `longest_s`."""

    def __init__(self, *, beat: Callable[[], None], clock: Clock, first_s: float, longest_s: float) -> None:
        self._beat = beat
        self._clock = clock
        self._pauses = Pauses(first_s=first_s, longest_s=longest_s)
        self._asked = asyncio.Event()
        self._due = clock()

    def ask(self) -> None:
        """There is work: the next round is due."""
        self._asked.set()

    def begin(self) -> bool:
        """What was asked for until now is this round's; whether its time had come as well."""
        self._asked.clear()
        return self._due <= self._clock()

    def again_in(self, seconds: float) -> None:
        """The next round is due in so many seconds, or when it is asked for."""
        self._due = self._clock() + seconds

    async def keep(self, run_once: Callable[[], Awaitable[None]]) -> None:
        """Round after round, for ever."""
        while True:
            self._beat()
            try:
                await run_once()
            except StoreError:
                await asyncio.sleep(self._pauses.next_s())
                continue
            self._pauses.reset()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, self._due - self._clock())):
                    await self._asked.wait()
