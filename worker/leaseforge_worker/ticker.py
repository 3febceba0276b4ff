"""Sweeps this worker's queues: expired leases come back, due jobs become ready, old ones are trimmed."""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence

import structlog

from leaseforge import events, exchanges
from leaseforge.errors import ScriptFault, StoreError
from leaseforge.exchanges import Ticked
from leaseforge_worker.exchange import Runs
from leaseforge_worker.held import Clock
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.pauses import Pauses

log = structlog.get_logger()

LONGEST_S = 2.0
_JITTER = 0.1
_SHORTEST_S = 0.02
"""No queue is swept more often by one worker, times the live workers of the queue: together they would flood Redis."""
_AT_ONCE = 50
"""Calls of one queue in a row while a sweep comes back full; then the other queues have their turn."""


class Ticker:
    """Sweeps each queue every min(live workers x 1 s, 2 s, lease / 5), and when the next job is due.

    Any number of workers may sweep the same queue; each expiry and due time is handled once.
    """

    def __init__(
        self,
        *,
        store: Runs,
        queues: Callable[[], Sequence[str]],
        consumers: Callable[[], Mapping[str, int]],
        lease_ms: int,
        backoff_base_ms: int,
        backoff_cap_ms: int,
        link: Link,
        meters: Meters,
        beat: Callable[[], None],
        clock: Clock = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._queues = queues
        self._consumers = consumers
        self._lease_s = lease_ms / 1000
        self._backoff_base_ms = backoff_base_ms
        self._backoff_cap_ms = backoff_cap_ms
        self._link = link
        self._meters = meters
        self._beat = beat
        self._clock = clock
        self._draw = draw
        self._due: dict[str, float] = {}
        self._pauses = Pauses(first_s=0.1, longest_s=LONGEST_S)

    async def run(self) -> None:
        """Sweeps what is due, for ever."""
        while True:
            self._beat()
            try:
                pause = await self.run_once()
            except StoreError as error:
                self._link.failed("tick", error)
                pause = self._pauses.next_s()
            else:
                self._pauses.reset()
            await asyncio.sleep(pause)

    async def run_once(self) -> float:
        """Sweeps every queue whose time has come; answers the seconds until the next one's."""
        queues = self._queues()
        self._due = {queue: self._due.get(queue, 0.0) for queue in queues}
        for queue in queues:
            if self._due[queue] <= self._clock():
                self._due[queue] = self._clock() + await self._sweep_or_wait(queue)
        return max(_SHORTEST_S, min(self._due.values(), default=self._clock() + LONGEST_S) - self._clock())

    async def _sweep_or_wait(self, queue: str) -> float:
        """Sweeps a queue; the seconds until its next sweep. One that cannot be swept does not hold up the others."""
        try:
            return self._pause(queue, await self._sweep(queue))
        except ScriptFault as error:
            log.error(events.SWEEP_FAILED, queue=queue, error=str(error))
            return LONGEST_S

    async def _sweep(self, queue: str) -> Ticked:
        call = exchanges.tick(queue, backoff_base_ms=self._backoff_base_ms, backoff_cap_ms=self._backoff_cap_ms)
        for _ in range(_AT_ONCE):
            started = self._clock()
            swept = await self._store.run(call)
            self._meters.called("tick", self._clock() - started)
            self._link.worked("tick")
            if not swept.full:
                break
        return swept

    def _pause(self, queue: str, swept: Ticked) -> float:
        """Until the next sweep of this queue; jittered downwards only, so that recovery is never late by it."""
        workers = max(1, self._consumers().get(queue, 1))
        interval = min(workers * 1.0, LONGEST_S, self._lease_s / 5) * (1 - _JITTER * self._draw())
        if swept.next_due_ms is None:
            return interval
        return min(interval, max(swept.next_due_ms / 1000, _SHORTEST_S * workers))
