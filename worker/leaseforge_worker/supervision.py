"""Loops that outlive their own crashes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from leaseforge import events
from leaseforge_worker.held import Clock
from leaseforge_worker.pauses import Pauses

log = structlog.get_logger()

_LONGEST_PAUSE_S = 10.0
_CANCEL_AGAIN_S = 0.2


class Pulse:
    """The last sign of life of each loop, so that a loop that died in silence can be seen from outside."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._beats: dict[str, float] = {}
        self.crashes: dict[str, int] = {}

    def beat(self, loop: str) -> None:
        """A loop went round once, or waits as it should."""
        self._beats[loop] = self._clock()

    def crashed(self, loop: str) -> None:
        """A loop crashed and will be started again."""
        self.crashes[loop] = self.crashes.get(loop, 0) + 1

    def ages_s(self) -> dict[str, float]:
        """Seconds since each loop's last sign of life."""
        now = self._clock()
        return {loop: now - at for loop, at in list(self._beats.items())}


async def end_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancels tasks until all have ended: a library that swallows a cancellation must not hold up the way out."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_CANCEL_AGAIN_S)


async def supervise(
    name: str,
    run: Callable[[], Awaitable[None]],
    pulse: Pulse,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Runs a loop until it returns or is cancelled; a crash is logged and the loop started again after a pause.

    What a loop must not lose in a crash lives in its object, not in its coroutine.
    """
    pauses = Pauses(first_s=0.1, longest_s=_LONGEST_PAUSE_S)
    while True:
        started = time.monotonic()
        try:
            await run()
        except Exception:
            pulse.crashed(name)
            log.exception(events.LOOP_CRASHED, loop=name)
        else:
            return
        if time.monotonic() - started > _LONGEST_PAUSE_S:
            pauses.reset()
        await sleep(pauses.next_s())
