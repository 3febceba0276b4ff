"""Bulk operations on a queue that workers, producers and other operators use at the same time, in seeded order."""

import random

import pytest

from leaseforge import bulk_work, operations
from leaseforge.bulk_records import BulkOperation, BulkState
from leaseforge.claimed import Claimed
from leaseforge.errors import InvalidTransition, JobNotFound, UniqueKeyTaken
from leaseforge.exchanges import Outcome
from tests.support.bulk_steps import Runner
from tests.support.live_queue import LiveQueue

ACTIONS = ("retry", "requeue", "cancel", "delete", "promote")


class Crowd:
    """Everybody who uses the queue, one step at a time."""

    def __init__(self, line: LiveQueue, chance: random.Random) -> None:
        self.line = line
        self.chance = chance
        self.runner = Runner(line)
        self.ids = line.add_many(60)
        self.held: list[Claimed] = []
        self.operations: list[BulkOperation] = []
        self.replayed_by_hand = 0

    def step(self) -> None:
        self.chance.choice(
            (self.produce, self.claim, self.settle, self.settle, self.by_hand, self.ask, *[self.bulk] * 4)
        )()

    def produce(self) -> None:
        delay_ms = self.chance.choice((0, 0, 600_000))
        unique_key = self.chance.choice((None, None, "only"))
        self.ids += [self.line.add(delay_ms=delay_ms, unique_key=unique_key)]

    def claim(self) -> None:
        self.held += self.line.claim(self.chance.randint(1, 8))

    def settle(self) -> None:
        if self.held:
            claimed = self.held.pop(self.chance.randrange(len(self.held)))
            outcome = self.chance.choice((Outcome.COMPLETE, Outcome.FAIL, Outcome.FAIL, Outcome.RELEASE))
            permanent = self.chance.choice(("", "told_so"))
            self.line.settle(claimed, outcome, error_kind="Broken", permanent=permanent, delay_ms=600_000)

    def by_hand(self) -> None:
        job_id = self.chance.choice(self.ids)
        try:
            if self.chance.random() < 0.6:
                self.line.run(operations.requeue(job_id, operation=f"op{self.chance.random()}"))
                self.replayed_by_hand += 1
            else:
                self.line.run(operations.delete(job_id))
        except (InvalidTransition, JobNotFound, UniqueKeyTaken):
            pass  # somebody was faster: that is the point

    def ask(self) -> None:
        if len(self.operations) < 15:
            self.operations.append(self.runner.create(self.chance.choice(ACTIONS), queue=self.line.name))

    def bulk(self) -> None:
        if not self.operations:
            return
        made = self.chance.choice(self.operations)
        work = self.runner.work(made)
        if work.operation.state is BulkState.COLLECTING:
            if self.runner.step(made) == bulk_work.OVER:
                work.operation = self.runner.start(self.runner.collect(made))
        elif work.next_to_act_on() is not None:
            self.runner.act(made, limit=self.chance.randint(1, 7))

    def finish(self) -> None:
        for made in self.operations:
            work = self.runner.work(made)
            if work.operation.state is BulkState.COLLECTING:
                work.operation = self.runner.start(self.runner.collect(made))
            self.runner.finish(made)


@pytest.mark.parametrize("seed", range(12))
def test_each_job_is_acted_on_once_and_the_queue_stays_whole(line: LiveQueue, seed: int) -> None:
    crowd = Crowd(line, random.Random(seed))
    for _ in range(250):
        crowd.step()
    crowd.finish()

    done = dict.fromkeys(ACTIONS, 0)
    for made in crowd.operations:
        counts = crowd.runner.work(made).counts()
        taken = counts.done + counts.changed + counts.gone + sum(counts.failed.values())
        assert taken == counts.total
        assert set(counts.failed) <= {"unique_key_taken"}
        done[made.order.action] += counts.done
    assert line.count("replayed") == done["retry"] + done["requeue"] + crowd.replayed_by_hand
    assert sum(done.values()) > 0
    assert line.count("promoted") == done["promote"]
    line.audit()
