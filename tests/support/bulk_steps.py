"""Bulk operations for a test, taken step by step the way the runner takes them."""

from collections.abc import Mapping
from itertools import count
from typing import Any
from uuid import uuid4

from leaseforge import bulk, bulk_calls, bulk_work, limits, statistics
from leaseforge.bulk_fields import count_fields, found_fields
from leaseforge.bulk_records import BulkAction, BulkFilter, BulkOperation, BulkOrder, BulkState
from leaseforge.bulk_work import Work
from tests.support.live_queue import LiveQueue
from tests.support.waiting import eventually_sync


def order(action: str, wanted: Mapping[str, Any], *, created_by: str = "ada", **fields: Any) -> BulkOrder:
    """What an operator asks for."""
    return BulkOrder(BulkAction(action), BulkFilter(**wanted), created_by=created_by, **fields)


class Runner:
    """One process that carries out bulk operations; `work` holds what it knows of each."""

    def __init__(self, line: LiveQueue, name: str = "one") -> None:
        self.line = line
        self.term = line.run(statistics.lead(bulk_calls.OFFICE, holder=name, ttl_ms=1))
        self.works: dict[str, Work] = {}
        self._people = map("operator-{}".format, count())

    def create(self, action: str, **wanted: Any) -> BulkOperation:
        """A fresh operation on the line's jobs, asked for by somebody who has no other, as one account has few places.

        Returns once Redis's clock has gone on, so what follows is later.
        """
        asked = order(action, wanted or {"queue": self.line.name}, created_by=next(self._people))
        made = self.line.run(bulk.create(uuid4().hex, asked))
        eventually_sync(lambda: self.line.now_ms() > made.as_of_ms)
        return made

    def step(self, operation: BulkOperation, *, most: int = limits.MAX_OPERATION_JOBS) -> str:
        """One step of writing jobs down."""
        return self.line.run(bulk_work.collect(self.work(operation), term=self.term, most=most))

    def collect(self, operation: BulkOperation, *, most: int = limits.MAX_OPERATION_JOBS) -> BulkOperation:
        """All steps, to ready."""
        while self.step(operation, most=most) != bulk_work.OVER:
            pass
        work = self.work(operation)
        sample = self.line.run(bulk_work.sample(work))
        queues = [queue for queue in work.queues if work.parts[queue].found]
        fields = count_fields(work.counts()) | found_fields(queues, sample, is_cut=work.is_cut)
        call = bulk_calls.note(operation.id, fields, term=self.term, before=BulkState.COLLECTING, after=BulkState.READY)
        self.line.run(call)
        self.line.run(bulk_work.drop_empty(work))
        return self.line.run(bulk.show(operation.id))

    def start(self, operation: BulkOperation) -> BulkOperation:
        """Lets an operator run it."""
        return self.line.run(bulk.run(operation.id, user="ada"))

    def act(self, operation: BulkOperation, *, limit: int = 100) -> str:
        """One chunk."""
        work = self.work(operation)
        work.operation = self.line.run(bulk.show(operation.id))
        queue = work.next_to_act_on()
        if queue is None:
            return "over"
        word, _ = self.line.run(bulk_work.act(work, queue, term=self.term, limit=limit))
        return word

    def do(self, action: str, **wanted: Any) -> Work:
        """An operation from beginning to end; what came of it."""
        return self.finish(self.start(self.collect(self.create(action, **wanted))))

    def finish(self, operation: BulkOperation) -> Work:
        """All chunks that are left."""
        while self.act(operation) == "ok":
            pass
        return self.work(operation)

    def chosen(self, operation: BulkOperation) -> list[str]:
        """The ids written down in the line's own queue and not taken yet."""
        entries = self.line.raw.lrange(self.line.key(f"bulk:{operation.id}:chosen"), 0, -1)
        return [entry.decode().partition(" ")[0] for entry in entries]

    def work(self, operation: BulkOperation) -> Work:
        if operation.id not in self.works:
            self.works[operation.id] = self.line.run(bulk_work.take_up(operation))
        return self.works[operation.id]
