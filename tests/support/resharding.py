"""A queue with jobs in every state, worked on while its slot moves to another node."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from leaseforge import exchanges, operations
from leaseforge.answers import Answer
from leaseforge.claimed import Claimed
from leaseforge.errors import StoreUnavailable
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.limits import CHUNK, MAX_BULK
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.support.cluster import Node, OwnCluster

LEASE_MS = 60_000
SHARES = {
    Outcome.COMPLETE: 0.2,
    Outcome.CANCELLED: 0.05,
    Outcome.FAIL: 0.2,
    Outcome.RELEASE: 0.05,
}
"""How much of a queue has been worked on, by the end it came to; half of what failed is dead."""


@dataclass(slots=True)
class Load:
    """What producers were told was stored, what workers were told was settled, and what is still held."""

    store: Store
    queue: str
    stored: set[str] = field(default_factory=set)
    settled: dict[str, Answer] = field(default_factory=dict)
    held: list[Claimed] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    stopping: bool = False

    async def enqueue(self, count: int, *, delay_ms: int = 0) -> None:
        for start in range(0, count, MAX_BULK):
            jobs = [
                new_job(
                    "work",
                    start + number,
                    queue=self.queue,
                    delay_ms=delay_ms,
                    unique_key=f"{delay_ms}-{start}-{number}",
                )
                if not number % 50
                else new_job("work", start + number, queue=self.queue, delay_ms=delay_ms)
                for number in range(min(MAX_BULK, count - start))
            ]
            self.stored |= {one.id for one in await self.store.run(operations.enqueue_many(jobs))}

    async def exchange(self, worker: str, want: int, settlements: Sequence[Settlement] = ()) -> exchanges.Exchanged:
        self.numbers[worker] = self.numbers.get(worker, 0) + 1
        call = exchanges.exchange(
            self.queue,
            run_id=worker,
            number=self.numbers[worker],
            lease_ms=LEASE_MS,
            want=want,
            settlements=settlements,
        )
        answer = await self.store.run(call)
        self.settled.update(zip((one.token for one in settlements), answer.settled, strict=True))
        return answer

    async def fill(self, total: int) -> None:
        """Puts `total` jobs into the queue, some in each state."""
        await self.enqueue(total * 9 // 10)
        await self.enqueue(total - total * 9 // 10, delay_ms=3_600_000)
        for outcome, share in SHARES.items():
            left = int(total * share)
            while left > 0:
                claimed = (await self.exchange("filler", min(CHUNK, left))).claimed
                left -= len(claimed)
                await self.exchange("filler", 0, [_ended(job, number, outcome) for number, job in enumerate(claimed)])
        for _ in range(max(1, total // 10 // CHUNK)):
            self.held += (await self.exchange("holder", min(CHUNK, total // 10))).claimed

    async def produce(self) -> None:
        while not self.stopping:
            await self.enqueue(5)
            await asyncio.sleep(0)

    async def work(self, worker: str) -> None:
        """Claims and completes without end; waits for the queue's token as workers do."""
        ended: list[Settlement] = []
        while not self.stopping:
            answer = await self.exchange(worker, 8, ended)
            ended = [_ended(job, number, Outcome.COMPLETE) for number, job in enumerate(answer.claimed)]
            if not ended:
                try:
                    await self.store.wait([self.queue], timeout_s=0.2)
                except StoreUnavailable:
                    await asyncio.sleep(0.05)
        await self.exchange(worker, 0, ended)

    async def sweep(self) -> None:
        while not self.stopping:
            await self.store.run(exchanges.tick(self.queue))
            for start in range(0, len(self.held), CHUNK):
                held = [(job.id, job.token) for job in self.held[start : start + CHUNK]]
                answers = await self.store.run(exchanges.renew(self.queue, lease_ms=LEASE_MS, held=held))
                assert set(answers) == {Answer.OK}
            await asyncio.sleep(0.1)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """A producer, two workers and a sweeper at work; all stop, and what they hold is settled, at the end."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.produce())
            group.create_task(self.sweep())
            for worker in ("w1", "w2"):
                group.create_task(self.work(worker))
            try:
                yield
            finally:
                self.stopping = True


async def move_slot(cluster: OwnCluster, queue: str, target: Node, *, at_once: int = 100) -> int:
    """Moves a queue's slot while everybody goes on; the number of keys that moved."""
    await asyncio.to_thread(cluster.begin_move, queue, target)
    moved = 0
    while keys := await asyncio.to_thread(cluster.move_keys, queue, target, most=at_once):
        moved += keys
    await asyncio.to_thread(cluster.end_move, queue, target)
    return moved


def _ended(job: Claimed, number: int, outcome: Outcome) -> Settlement:
    if outcome is Outcome.FAIL:
        permanent = "told_so" if number % 2 else ""
        return Settlement(
            job.id, job.token, outcome, error_kind="E", error_message="x", permanent=permanent, delay_ms=3_600_000
        )
    return Settlement(job.id, job.token, outcome, result=b"1" if outcome is Outcome.COMPLETE else b"")
