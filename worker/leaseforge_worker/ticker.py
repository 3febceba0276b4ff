"""Sweeps this worker's queues: expired leases come back, due jobs become ready, old ones are trimmed."""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import structlog

from leaseforge import events, exchanges
from leaseforge.errors import ScriptFault, StoreError
from leaseforge.exchanges import Ticked
from leaseforge_worker.exchange import Runs
from leaseforge_worker.held import Clock
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.pauses import Pauses

if TYPE_CHECKING:
    from leaseforge_worker.job_traces import JobTraces

log = structlog.get_logger()

LONGEST_S = 2.0
_LOOK_S = 1.0
"""How often a worker looks whether it had work since a calm queue was swept; that asks Redis nothing."""
_JITTER = 0.1
_SHORTEST_S = 0.02
"""No queue is swept more often by one worker, times the live workers of the queue: together they would flood Redis."""
_AT_ONCE = 100
"""Calls of one queue in a row while a sweep comes back full; then the other queues have their turn."""


class Due(NamedTuple):
    """When a queue is to be swept: `at`, or `calm_at` if this worker's work still stands at `work`."""

    at: float
    calm_at: float
    work: int

    def when(self, work: int) -> float:
        """The time that holds while this worker's work stands at `work`."""
        return self.calm_at if work == self.work else self.at


_NOW = Due(0.0, 0.0, 0)


class Ticker:
    """Sweeps each queue every min(live workers x 1 s, 2 s, lease / 5), and when the next job is due.

    A lone worker too leaves a queue in peace for min(2 s, lease / 5) while the last sweep found nothing
    to do and it has claimed and settled nothing since. Any number of workers may sweep the same
    queue; each expiry and due time is handled once. `forward` is told of a queue that has follow-ups
    for others.
    """

    def __init__(
        self,
        *,
        store: Runs,
        queues: Callable[[], Sequence[str]],
        consumers: Callable[[], Mapping[str, int]],
        forward: Callable[[str], None],
        lease_ms: int,
        backoff_base_ms: int,
        backoff_cap_ms: int,
        link: Link,
        meters: Meters,
        beat: Callable[[], None],
        clock: Clock = time.monotonic,
        draw: Callable[[], float] = random.random,
        traces: "JobTraces | None" = None,
    ) -> None:
        self._store = store
        self._queues = queues
        self._consumers = consumers
        self._forward = forward
        self._lease_s = lease_ms / 1000
        self._backoff_base_ms = backoff_base_ms
        self._backoff_cap_ms = backoff_cap_ms
        self._link = link
        self._meters = meters
        self._beat = beat
        self._clock = clock
        self._draw = draw
        self._traces = traces
        self._due: dict[str, Due] = {}
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
        """Sweeps every queue whose time has come; answers the seconds until the next look."""
        queues = self._queues()
        self._due = {queue: self._due.get(queue, _NOW) for queue in queues}
        for queue in queues:
            if self._due[queue].when(self._work()) <= self._clock():
                self._due[queue] = await self._sweep_or_wait(queue)
        now, work = self._clock(), self._work()
        pauses = [due.when(work) - now for due in self._due.values()]
        if any(due.at < due.calm_at for due in self._due.values()):
            pauses.append(_LOOK_S)
        return max(_SHORTEST_S, min(pauses, default=LONGEST_S))

    def _work(self) -> int:
        """Changes with each claim and settlement of this worker: a retry it asked for may be due before long."""
        return self._meters.claimed + sum(self._meters.settled.values())

    async def _sweep_or_wait(self, queue: str) -> Due:
        """Sweeps a queue; its next time. One that cannot be swept does not hold up the others."""
        work = self._work()
        try:
            swept = await self._sweep(queue)
        except ScriptFault as error:
            log.error(events.SWEEP_FAILED, queue=queue, error=str(error))
            at = self._clock() + LONGEST_S
            return Due(at, at, work)
        return self._next(queue, swept, work)

    async def _sweep(self, queue: str) -> Ticked:
        call = exchanges.tick(queue, backoff_base_ms=self._backoff_base_ms, backoff_cap_ms=self._backoff_cap_ms)
        for _ in range(_AT_ONCE):
            started, asked_ns = self._clock(), time.time_ns()
            swept = await self._store.run(call)
            if self._traces is not None:
                self._traces.moved(swept.moves, since_ns=asked_ns)
            self._meters.called("sweep", self._clock() - started)
            self._link.worked("tick")
            if not swept.full:
                break
        if swept.follow_ups:
            self._forward(queue)
        return swept

    def _next(self, queue: str, swept: Ticked, work: int) -> Due:
        """After this sweep. Jittered downwards only, so that recovery is never late by it."""
        workers = max(1, self._consumers().get(queue, 1))
        longest = min(LONGEST_S, self._lease_s / 5)
        usual = min(workers * 1.0, longest)
        has_done = swept.recovered or swept.dead or swept.promoted or swept.trimmed or swept.full
        shortened = 1 - _JITTER * self._draw()
        pauses = [usual * shortened, (usual if has_done else longest) * shortened]
        if swept.next_due_ms is not None:
            soonest = max(swept.next_due_ms / 1000, _SHORTEST_S * workers)
            pauses = [min(pause, soonest) for pause in pauses]
        now = self._clock()
        return Due(now + pauses[0], now + pauses[1], work)
