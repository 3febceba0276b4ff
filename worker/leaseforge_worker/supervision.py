"""Loops that outlive their own crashes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from leaseforge import events
from leaseforge.pulse import Pulse
from leaseforge_worker.pauses import Pauses

log = structlog.get_logger()

_LONGEST_PAUSE_S = 10.0
_CANCEL_AGAIN_S = 0.2


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
