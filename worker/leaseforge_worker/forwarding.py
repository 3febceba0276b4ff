"""Moves follow-ups for other queues from the outbox of their parents' queue to their own."""

import random
import time
from collections.abc import Callable
from typing import Protocol

import structlog

from leaseforge import events, outbox
from leaseforge.calls import Plan
from leaseforge.errors import ScriptFault, StoreError
from leaseforge.outbox import Forwarded
from leaseforge_worker.held import Clock
from leaseforge_worker.link import Link
from leaseforge_worker.metrics import Meters
from leaseforge_worker.rounds import Rounds

log = structlog.get_logger()

EVERY_S = 5.0
_JITTER = 0.25
_AT_A_TIME = 16
"""Follow-ups of one round: their payloads, 1 MiB at most, travel together."""
_ROUNDS = 50
"""Rounds of one queue in a row; then the other queues have their turn."""


class Forwards(Protocol):
    """The one thing this loop needs of a store."""

    async def run(self, plan: Plan[Forwarded], /) -> Forwarded:
        """Carries out a plan. Raises StoreError."""
        ...


class Forwarding:
    """Empties the outbox of a queue that was asked for at once, and every 5 s of those a sweep found follow-ups in.

    Any number of workers may do so together: a follow-up that is forwarded twice is stored once. A
    queue in trouble does not hold up the others, neither one whose outbox is read nor one that its
    follow-ups go to.
    """

    def __init__(
        self,
        *,
        store: Forwards,
        link: Link,
        meters: Meters,
        beat: Callable[[], None],
        clock: Clock = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._link = link
        self._meters = meters
        self._beat = beat
        self._clock = clock
        self._draw = draw
        self._asked: dict[str, None] = {}
        self._left: dict[str, None] = {}
        self._busy = False
        self._stuck: set[str] = set()
        self._rounds = Rounds(beat=beat, clock=clock, first_s=0.1, longest_s=EVERY_S)

    @property
    def is_busy(self) -> bool:
        """Whether follow-ups are being forwarded, or were asked for."""
        return self._busy or bool(self._asked)

    def soon(self, queue: str) -> None:
        """A job of this queue completed with follow-ups for others."""
        self._asked[queue] = None
        self._rounds.ask()

    def left(self, queue: str) -> None:
        """A sweep found follow-ups: perhaps on their way, perhaps left by a worker that died or stuck."""
        self._left[queue] = None

    async def run(self) -> None:
        """Forwards for ever; Redis being away only pauses it."""
        await self._rounds.keep(self.run_once)

    async def run_once(self) -> None:
        """Forwards from the queues asked for, and once their time has come from those with follow-ups left.

        Raises StoreError after all were tried; those that failed count as asked for.
        """
        is_due = self._rounds.begin()
        asked, self._asked = self._asked, {}
        if is_due:
            self._rounds.again_in(EVERY_S * (1 - _JITTER * self._draw()))
            asked |= self._left
            self._left = {}
        failure: StoreError | None = None
        self._busy = True
        try:
            for queue in asked:
                self._beat()
                try:
                    await self._forward(queue)
                except ScriptFault as error:
                    self._link.worked(f"forward:{queue}")
                    log.error(events.FORWARDING_FAILED, queue=queue, error=str(error))
                except StoreError as error:
                    self._link.failed(f"forward:{queue}", error)
                    self._asked[queue] = None
                    failure = failure or error
        finally:
            self._busy = False
        if failure is not None:
            raise failure

    async def _forward(self, queue: str) -> None:
        """Rounds until nothing is left, nothing moves, or others should have their turn."""
        for _ in range(_ROUNDS):
            started = self._clock()
            done = await self._store.run(outbox.forward(queue, limit=_AT_A_TIME))
            self._meters.called("forward", self._clock() - started)
            self._link.worked(f"forward:{queue}")
            if done.refused:
                log.warning(events.FOLLOW_UPS_REFUSED, queue=queue, jobs=done.refused)
            if not done.left:
                self._stuck.discard(queue)
                return
            if not done.moved and not done.refused:
                self._tell_stuck(queue, done.left)
                return
        self.soon(queue)

    def _tell_stuck(self, queue: str, left: int) -> None:
        """Told once: the queues these jobs are for cannot take them now, and each round finds that again."""
        if queue not in self._stuck:
            self._stuck.add(queue)
            log.warning(events.FOLLOW_UPS_STUCK, queue=queue, jobs=left)
