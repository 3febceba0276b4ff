"""Fencing: a token that is no longer the job's changes nothing, whatever is tried with it and however it went stale."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from leaseforge import operations
from leaseforge.answers import Answer
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue

Stale = Callable[[LiveQueue], Claimed]


def recovered(line: LiveQueue) -> Claimed:
    line.add()
    claimed = line.claim_one()
    line.expire(claimed.id)
    line.tick()
    return claimed


def recovered_and_claimed_by_another(line: LiveQueue) -> Claimed:
    claimed = recovered(line)
    line.claim_one(run_id="w2")
    return claimed


def recovered_and_claimed_again(line: LiveQueue) -> Claimed:
    claimed = recovered(line)
    line.claim_one()
    return claimed


def recovered_and_completed_by_another(line: LiveQueue) -> Claimed:
    claimed = recovered(line)
    line.settle(line.claim_one(run_id="w2"), Outcome.COMPLETE, result=b"theirs")
    return claimed


def poisoned(line: LiveQueue) -> Claimed:
    line.add()
    claimed = line.claim_one()
    line.expire(claimed.id)
    line.tick(max_recoveries=0)
    return claimed


def poisoned_and_replayed(line: LiveQueue) -> Claimed:
    claimed = poisoned(line)
    line.run(operations.retry(claimed.id, operation="op"))
    return claimed


def cancelled_when_lost(line: LiveQueue) -> Claimed:
    line.add()
    claimed = line.claim_one()
    line.raw.hset(line.record_key(claimed.id), "cancel_requested", "1")
    line.expire(claimed.id)
    line.tick()
    return claimed


def deleted(line: LiveQueue) -> Claimed:
    claimed = recovered(line)
    line.run(operations.delete(claimed.id))
    return claimed


def purged(line: LiveQueue) -> Claimed:
    claimed = recovered(line)
    line.run(operations.purge(line.name, sequence=1, as_of_ms=line.now_ms() + 1000))
    return claimed


def forged(line: LiveQueue) -> Claimed:
    line.add()
    claimed = line.claim_one()
    return replace(claimed, token=f"{claimed.fence}.w2")


def of_a_later_claim_that_never_was(line: LiveQueue) -> Claimed:
    line.add()
    claimed = line.claim_one()
    return replace(claimed, token=f"{claimed.fence + 1}.w1")


def of_another_job(line: LiveQueue) -> Claimed:
    line.add_many(2)
    first, second = line.claim(2)
    return replace(first, token=second.token)


def empty_for_a_job_without_one(line: LiveQueue) -> Claimed:
    return replace(recovered(line), token="")


def empty_for_a_running_job(line: LiveQueue) -> Claimed:
    line.add()
    return replace(line.claim_one(), token="")


WAYS: list[Stale] = [
    recovered,
    recovered_and_claimed_by_another,
    recovered_and_claimed_again,
    recovered_and_completed_by_another,
    poisoned,
    poisoned_and_replayed,
    cancelled_when_lost,
    deleted,
    purged,
    forged,
    of_a_later_claim_that_never_was,
    of_another_job,
    empty_for_a_job_without_one,
    empty_for_a_running_job,
]


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("make_stale", WAYS, ids=lambda way: way.__name__)
def test_a_stale_token_settles_nothing(line: LiveQueue, make_stale: Stale, outcome: Outcome) -> None:
    claimed = make_stale(line)

    with line.unchanged(fenced=1):
        answer = line.settle(
            claimed, outcome, result=b"stale", error_kind="Stale", permanent="stale" if outcome is Outcome.FAIL else ""
        )

    assert answer is Answer.FENCED


@pytest.mark.parametrize("make_stale", WAYS, ids=lambda way: way.__name__)
def test_a_stale_token_renews_nothing(line: LiveQueue, make_stale: Stale) -> None:
    claimed = make_stale(line)

    with line.unchanged(fenced=1):
        assert line.renew(claimed) == (Answer.FENCED,)


def test_a_stale_token_among_good_ones_is_refused_alone(line: LiveQueue) -> None:
    stale = recovered(line)
    line.claim_one(run_id="w2")
    line.add_many(2)
    good = line.claim(2)

    assert line.renew(good[0], stale, good[1]) == (Answer.OK, Answer.FENCED, Answer.OK)

    assert line.state(stale.id) is JobState.RUNNING
    assert line.job(stale.id).worker == "w2"


def test_a_stale_worker_cannot_touch_a_job_of_the_same_id_in_another_queue(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()
    with LiveQueue(line.url, "other") as other:
        other.add(id=job_id)
        other.claim_one()

        with other.unchanged(fenced=1):
            assert other.settle(claimed, Outcome.COMPLETE) is Answer.FENCED
