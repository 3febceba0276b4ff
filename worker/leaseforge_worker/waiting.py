"""Waits for work without asking for it again and again."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from leaseforge.errors import StoreError
from leaseforge_worker.exchange import LONGEST_PAUSE_S
from leaseforge_worker.intake import Intake
from leaseforge_worker.link import Link
from leaseforge_worker.pauses import Pauses

WAIT_S = 2.0


class Waits(Protocol):
    """The one thing the waiting loop needs of a store."""

    async def wait(self, queues: Sequence[str], *, timeout_s: float) -> str | None:
        """Waits for the wake token of any of the queues; the queue's name, or None when time is up."""
        ...


class Waiting:
    """While a slot is free and no queue is known to have work, blocks on the wake tokens of all queues.

    A token that comes is answered with an exchange of its queue: it claims, or, if the slot is gone
    by then, claims nothing and so passes the token on. A wait that times out causes nothing: the
    tick puts a token wherever claimable jobs have none.
    """

    def __init__(self, *, store: Waits, intake: Intake, woken: Callable[[str], None], link: Link) -> None:
        self._store = store
        self._intake = intake
        self._woken = woken
        self._link = link
        self._pauses = Pauses(first_s=0.05, longest_s=LONGEST_PAUSE_S)

    async def run(self) -> None:
        """Waits for ever; Redis being away only pauses it. A queue may have got work meanwhile, so all are asked."""
        while True:
            try:
                await self.run_once()
            except StoreError as error:
                self._link.failed("wait", error)
                await asyncio.sleep(self._pauses.next_s())
                self._intake.set_all_hungry()
            else:
                self._pauses.reset()

    async def run_once(self) -> None:
        """One wait, as soon as the worker is idle enough for one. Raises StoreError."""
        await self._intake.idle.wait()
        queue = await self._store.wait(self._intake.queues, timeout_s=WAIT_S)
        self._link.worked("wait")
        self._link.asked()
        if queue is not None:
            self._woken(queue)
