"""Both bounds of a purge hold, each where the other cannot tell."""

from leaseforge import operations, reads
from leaseforge.exchanges import Outcome
from tests.support.live_queue import LiveQueue


def test_the_sequence_tells_what_came_later_within_the_same_millisecond(line: LiveQueue) -> None:
    shown = line.add_many(2)
    sequence = line.run(reads.queue(line.name)).sequence
    later = line.add_many(2)
    urgent = line.add(priority=5)

    purged = line.run(operations.purge(line.name, sequence=sequence, as_of_ms=line.now_ms() + 1000))

    assert purged.removed == len(shown)
    assert line.ready() == [urgent, *later]


def test_the_time_tells_what_came_back_with_its_old_sequence(line: LiveQueue) -> None:
    line.add_many(2)
    claimed = line.claim_one()
    seen = line.run(reads.queue(line.name))
    line.settle(claimed, Outcome.RELEASE)

    purged = line.run(operations.purge(line.name, sequence=seen.sequence, as_of_ms=seen.as_of_ms - 1000))

    assert purged.removed == 0
    assert line.ready()[0] == claimed.id
