"""renew: running -> running, with a later lease expiry."""

import pytest

from leaseforge import exchanges, operations
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome
from tests.support.live_queue import LiveQueue


def test_a_renewed_lease_ends_later(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one(lease_ms=1000)
    before_ms = line.now_ms()

    assert line.renew(claimed, lease_ms=30_000) == (Answer.OK,)

    assert before_ms + 30_000 <= line.snapshot().sets["running"][job_id] <= line.now_ms() + 30_000


def test_renewing_changes_nothing_else(line: LiveQueue) -> None:
    line.add_many(2)
    claimed = line.claim_one()

    with line.unchanged(but_leases=True):
        line.renew(claimed)


def test_a_lease_whose_time_is_over_is_renewed_while_nobody_took_the_job(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    line.expire(job_id)

    assert line.renew(claimed) == (Answer.OK,)

    assert line.tick().recovered == 0


def test_each_of_many_leases_has_its_own_answer(line: LiveQueue) -> None:
    line.add_many(3)
    kept, settled, asked_to_stop = line.claim(3)
    line.settle(settled, Outcome.COMPLETE)
    line.raw.hset(line.record_key(asked_to_stop.id), "cancel_requested", "1")
    line.expire(kept.id, asked_to_stop.id)
    held = [
        (kept.id, kept.token),
        (kept.id, "1.thief"),
        (settled.id, settled.token),
        (asked_to_stop.id, asked_to_stop.token),
        ("no-such-job", kept.token),
    ]

    answers = line.run(exchanges.renew(line.name, lease_ms=5000, held=held))

    assert answers == (Answer.OK, Answer.FENCED, Answer.ALREADY_DONE, Answer.CANCELLED, Answer.FENCED)
    assert min(line.snapshot().sets["running"].values()) > line.now_ms()
    assert line.count("fenced") == 2


def test_leases_are_renewed_in_a_paused_queue(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one()
    line.run(operations.pause(line.name))

    assert line.renew(claimed) == (Answer.OK,)


def test_the_longest_lease_is_remembered_and_never_shortened(line: LiveQueue) -> None:
    line.add()
    claimed = line.claim_one(lease_ms=1000)

    line.renew(claimed, lease_ms=30_000)
    line.renew(claimed, lease_ms=2000)

    assert line.raw.hget(line.key("meta"), "lease_ms") == b"30000"


@pytest.mark.parametrize("count", [0, 201])
def test_one_call_renews_a_bounded_number(count: int) -> None:
    with pytest.raises(ValueError, match="1 to 200 leases"):
        exchanges.renew("line", lease_ms=1000, held=[("id", "token")] * count)
