"""Finds queues that appear while a worker serves every queue."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from leaseforge import reads
from leaseforge.calls import Plan
from leaseforge.errors import StoreError
from leaseforge_worker.link import Link

EVERY_S = 2.0


class Plans(Protocol):
    """The one thing this loop needs of a store."""

    async def run(self, plan: Plan[list[str]], /) -> list[str]:
        """Carries out a plan. Raises StoreError."""
        ...


class Discovery:
    """Looks every 2 s for queues there are; `found` is called with all of them."""

    def __init__(
        self, *, store: Plans, found: Callable[[Sequence[str]], None], link: Link, beat: Callable[[], None]
    ) -> None:
        self._store = store
        self._found = found
        self._link = link
        self._beat = beat

    async def run(self) -> None:
        """Looks, for ever."""
        while True:
            self._beat()
            try:
                await self.run_once()
            except StoreError as error:
                self._link.failed("discovery", error)
            await asyncio.sleep(EVERY_S)

    async def run_once(self) -> None:
        """One look. Raises StoreError."""
        self._found(await self._store.run(reads.queue_names()))
        self._link.worked("discovery")
