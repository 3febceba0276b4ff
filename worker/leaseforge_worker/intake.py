"""Which queue may claim how much: the worker's free room, handed out by the queues' order."""

import asyncio
from typing import Protocol

from leaseforge_worker.pool import Pool
from leaseforge_worker.queues import Turns


class Claimant(Protocol):
    """A queue's exchange, as the intake sees it."""

    @property
    def queue(self) -> str:
        """The queue's name."""
        ...

    def consider(self) -> None:
        """Sends an exchange if there is a reason to."""
        ...


class Intake:
    """Knows which queues may have work ("hungry") and whose turn it is.

    A queue is hungry from the start, when a wake token came for it, and while its claims come back
    full; a claim that came back short ends it. `idle` is set while a slot is free and no queue is
    hungry: then the worker waits for a token.
    """

    def __init__(self, pool: Pool, turns: Turns) -> None:
        self._pool = pool
        self._turns = turns
        self._claimants: dict[str, Claimant] = {}
        self._hungry: dict[str, None] = {}
        self.idle = asyncio.Event()

    @property
    def queues(self) -> list[str]:
        """The queues served now, in order."""
        return list(self._claimants)

    def add(self, claimant: Claimant) -> None:
        """A queue joins; it may have work."""
        self._claimants[claimant.queue] = claimant
        self.set_hungry(claimant.queue)

    def is_turn_of(self, queue: str) -> bool:
        """Whether this queue may claim: it is its turn, or no queue is known to have work."""
        turn = self._turns.next(self._hungry)
        return turn is None or turn == queue

    def is_hungry(self, queue: str) -> bool:
        """Whether this queue may have work."""
        return queue in self._hungry

    def grant(self, queue: str) -> int:
        """How many jobs this queue may claim now; they are reserved until `granted_used`."""
        if not self.is_turn_of(queue):
            return 0
        want = min(self._pool.room(), self._pool.batch)
        self._pool.reserved += want
        return want

    def used(self, queue: str, want: int, *, hungry: bool) -> None:
        """A claim was answered: its reservation ends. `hungry`: there may be more."""
        self._pool.reserved -= want
        if want:
            self._turns.taken(queue)
        if hungry:
            self._hungry[queue] = None
        elif want:
            self._hungry.pop(queue, None)

    def give_up(self, queue: str, want: int) -> None:
        """A claim got no answer: its reservation and its turn end, others may claim meanwhile."""
        self._pool.reserved -= want
        self._turns.taken(queue)
        self._hungry.pop(queue, None)
        self.feed()

    def set_hungry(self, queue: str) -> None:
        """A queue may have work: a token came, a wait is over, or it is new."""
        if queue in self._claimants:
            self._hungry[queue] = None
            self.feed()

    def set_all_hungry(self) -> None:
        """Any queue may have work: claims were off, or contact was lost."""
        self._hungry = dict.fromkeys(self._claimants)
        self.feed()

    def feed(self) -> None:
        """Lets the queue whose turn it is claim, if there is room; else the worker may wait for tokens."""
        pool = self._pool
        if self._hungry:
            self.idle.clear()
            if pool.is_eager() and (turn := self._turns.next(self._hungry)) is not None:
                self._claimants[turn].consider()
        elif self._claimants and pool.has_free_slot():
            self.idle.set()
        else:
            self.idle.clear()
