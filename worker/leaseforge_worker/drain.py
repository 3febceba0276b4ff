"""A worker's way out: finish what can be finished, give back the rest, leave nothing to run into its lease's end."""

import asyncio
import time
from collections.abc import Callable

import structlog

from leaseforge import events
from leaseforge_worker.attempt import GRACE_S
from leaseforge_worker.custody import Custody
from leaseforge_worker.forwarding import Forwarding
from leaseforge_worker.held import Stop
from leaseforge_worker.link import Link
from leaseforge_worker.supervision import end_tasks

log = structlog.get_logger()

TAIL_S = 1.8
"""After the drain time: how long stopped handlers may clean up and the last settlements may take. What is not through
by then is recovered when its lease ends."""
_CLAIM_S = 0.5
"""How long the answer to a claim may take that was under way when the drain began, whatever the drain time."""
_LOOK_S = 0.01


class Drain:
    """Ends the work of a worker; renewal, exchanges and ticks go on meanwhile. `waits` is the waiting loop's task."""

    def __init__(self, custody: Custody, waits: asyncio.Task[None], forwarding: Forwarding, link: Link) -> None:
        self._custody = custody
        self._waits = waits
        self._forwarding = forwarding
        self._link = link

    async def run(self, within_s: float) -> None:
        """Claims nothing any more, waits `within_s` for what runs, then releases what is left, uncharged."""
        custody, pool = self._custody, self._custody.pool
        started = time.monotonic()
        log.info(events.WORKER_DRAINING, running=len(pool.running), buffered=pool.buffered, within_s=within_s)
        custody.quiet()
        custody.give_back(pool.take_waiting())
        # A claim under way brings jobs yet: those that start are finished like the others, the rest goes back too.
        await _until(lambda: not pool.reserved, _CLAIM_S)
        custody.give_back(pool.take_waiting())
        left = 0
        in_time = await _until(lambda: not pool.running and not pool.reserved, started + within_s - time.monotonic())
        end = time.monotonic() + TAIL_S
        if not in_time:
            left = await self._release()
        await _until(lambda: not custody.unsettled, end - time.monotonic())
        # The last follow-ups too: this may be the only worker of the queue for a long time.
        await _until(lambda: not self._forwarding.is_busy, end - time.monotonic())
        await self._pass_tokens_on(end - time.monotonic())
        log.info(
            events.WORKER_DRAINED,
            took_s=round(time.monotonic() - started, 3),
            given_back=left,
            unsettled=custody.unsettled,
        )

    async def _release(self) -> int:
        """Stops what still runs and gives the jobs back; answers how many."""
        pool, attempts = self._custody.pool, self._custody.attempts
        left = list(pool.running)
        for held in left:
            attempts.stop(held, Stop.RELEASED)
        if not await _until(lambda: not pool.running, GRACE_S):
            for held in list(pool.running):
                attempts.abandon(held)
        return len(left)

    async def _pass_tokens_on(self, within_s: float) -> None:
        """The wait may be cut off with a token in its hand: an empty exchange puts one back where work is left."""
        await end_tasks([self._waits])
        if self._link.degraded:
            return
        exchanges = self._custody.exchanges.values()
        for exchange in exchanges:
            exchange.woken()
        await _until(lambda: not any(exchange.has_token for exchange in exchanges), within_s)


async def _until(condition: Callable[[], bool], within_s: float) -> bool:
    """Waits for a condition that other tasks make true; whether they did in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_LOOK_S)
    return True
