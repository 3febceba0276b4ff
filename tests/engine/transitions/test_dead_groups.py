"""Dead jobs by kind of error: joined with every way into dead, left with every way out."""

from collections.abc import Callable

import pytest

from leaseforge import operations, reads
from leaseforge.errors import BadInput
from leaseforge.exchanges import Outcome
from leaseforge.limits import MAX_GROUPS
from tests.support.live_queue import LiveQueue
from tests.support.references import audit_all


def fail(line: LiveQueue, message: str, *, job_type: str = "work") -> str:
    job_id = line.add(job_type)
    claimed = line.claim_one()
    line.settle(claimed, Outcome.FAIL, error_kind="Broken", error_message=message, max_attempts=1, job_type=job_type)
    return job_id


def test_failures_that_are_alike_stand_together(line: LiveQueue) -> None:
    ids = {fail(line, f"user {number} not found") for number in range(3)}
    fail(line, "disk full")
    fail(line, "disk full", job_type="other")

    largest, *rest = line.run(reads.groups(line.name)).items

    assert (largest.type, largest.kind, largest.message, largest.size) == ("work", "Broken", "user … not found", 3)
    assert sorted((group.type, group.size) for group in rest) == [("other", 1), ("work", 1)]
    page = line.run(reads.group_jobs(line.name, largest.key))
    assert ({job.id for job in page.items}, page.total) == (ids, 3)
    audit_all(line.raw, line.name)


def test_deaths_by_the_engine_s_own_hand_have_a_group_by_their_reason(line: LiveQueue) -> None:
    poisoned, broken = line.add(), line.add()
    line.claim_one()
    line.expire(poisoned)
    line.tick(max_recoveries=0)
    line.raw.delete(line.record_key(broken, ":in"))
    line.claim(1)

    kinds = {group.kind for group in line.run(reads.groups(line.name)).items}

    assert kinds == {"poison", "payload_missing"}


def retry(line: LiveQueue, job_id: str) -> None:
    line.run(operations.retry(job_id, operation="op"))


def requeue(line: LiveQueue, job_id: str) -> None:
    line.run(operations.requeue(job_id, operation="op"))


def delete(line: LiveQueue, job_id: str) -> None:
    line.run(operations.delete(job_id))


def trim(line: LiveQueue, job_id: str) -> None:
    line.age("dead", [job_id], 100 * 86_400_000)
    assert line.tick().trimmed == 1


@pytest.mark.parametrize("way_out", [retry, requeue, delete, trim])
def test_every_way_out_of_dead_leaves_the_group(line: LiveQueue, way_out: Callable[[LiveQueue, str], None]) -> None:
    first, second = fail(line, "x"), fail(line, "x")

    way_out(line, first)
    [left] = line.run(reads.groups(line.name)).items
    way_out_of_last = line.key(f"dead:group:{left.key}")
    line.run(operations.delete(second))

    assert left.size == 1
    assert line.run(reads.groups(line.name)).items == ()
    assert not line.raw.exists(way_out_of_last)
    audit_all(line.raw, line.name)


def test_beyond_a_bounded_number_of_groups_the_rest_stands_together(line: LiveQueue) -> None:
    line.raw.hset(line.key("dead:groups"), mapping={f"g{number}": "t\nk\nm" for number in range(MAX_GROUPS)})

    job_id = fail(line, "one kind too many")

    assert line.job(job_id).group == "other"
    assert line.raw.hlen(line.key("dead:groups")) == MAX_GROUPS + 1
    line.raw.hdel(line.key("dead:groups"), *(f"g{number}" for number in range(MAX_GROUPS)))


def test_groups_come_in_pages_the_largest_first_over_all_queues(line: LiveQueue) -> None:
    with LiveQueue(line.url, "other") as other:
        for size, (queue, letter) in enumerate([(line, "a"), (other, "b"), (line, "c"), (other, "d"), (line, "e")], 1):
            for _ in range(size):
                fail(queue, letter)

        pages = [line.run(reads.groups(offset=offset, limit=2)) for offset in (0, 2, 4, 6)]

        seen = [(group.queue, group.message, group.size) for page in pages for group in page.items]
        assert seen == [("line", "e", 5), ("other", "d", 4), ("line", "c", 3), ("other", "b", 2), ("line", "a", 1)]
        assert {page.total for page in pages} == {5}
        assert len(line.run(reads.groups("other")).items) == 2
        with pytest.raises(BadInput):
            line.run(reads.groups(limit=101))
