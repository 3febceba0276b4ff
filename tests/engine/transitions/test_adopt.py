"""claim sent again under the same number: a lost reply claims nothing twice and strands nothing."""

from leaseforge import operations
from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue


def test_the_same_number_answers_the_same_jobs_and_claims_nothing_new(line: LiveQueue) -> None:
    line.add_many(5)
    first = line.exchange(2)

    with line.unchanged(but_leases=True):
        again = line.exchange(2, number=line.last_number)

    assert again.status is Answer.ALREADY_DONE
    assert again.claimed == first.claimed
    assert again.more


def test_adopted_jobs_have_renewed_leases(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    line.expire(job_id)

    line.claim_one(number=line.last_number)

    assert line.snapshot().sets["running"][job_id] > line.now_ms()
    assert line.count("claimed") == 1
    assert line.job(job_id).attempts == 1


def test_only_what_still_runs_under_that_claim_is_adopted(line: LiveQueue) -> None:
    ids = line.add_many(5)
    claimed = line.claim(5)
    number = line.last_number
    line.settle(claimed[0], Outcome.COMPLETE)
    line.settle(claimed[1], Outcome.FAIL, error_kind="Broken")
    line.expire(ids[2], ids[3])
    line.tick()
    [reclaimed] = line.claim(1, run_id="w2")
    assert reclaimed.id == ids[2]

    again = line.exchange(5, number=number)

    assert [job.id for job in again.claimed] == [ids[4]]
    assert line.state(ids[3]) is JobState.READY


def test_a_job_claimed_again_by_the_same_worker_is_not_the_old_claim(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    number = line.last_number
    line.expire(job_id)
    line.tick()
    line.claim_one(run_id="w2")

    again = line.exchange(1, number=number)

    assert again.status is Answer.ALREADY_DONE
    assert again.claimed == ()


def test_another_worker_with_the_same_number_claims_for_itself(line: LiveQueue) -> None:
    ids = line.add_many(2)
    line.exchange(1, run_id="w1", number=7)

    other = line.exchange(1, run_id="w2", number=7)

    assert [job.id for job in other.claimed] == [ids[1]]
    assert other.status is not Answer.ALREADY_DONE


def test_the_next_number_claims_new_jobs(line: LiveQueue) -> None:
    ids = line.add_many(2)
    line.exchange(1, number=7)

    following = line.exchange(1, number=8)

    assert [job.id for job in following.claimed] == [ids[1]]


def test_an_older_number_that_arrives_late_claims_nothing(line: LiveQueue) -> None:
    ids = line.add_many(2)
    line.exchange(1, number=8)

    with line.unchanged():
        late = line.exchange(1, number=7)

    assert late.claimed == ()
    assert line.ready() == [ids[1]]


def test_a_claim_that_found_nothing_may_find_something_when_sent_again(line: LiveQueue) -> None:
    assert line.exchange(1, number=7).claimed == ()
    job_id = line.add()

    again = line.exchange(1, number=7)

    assert [job.id for job in again.claimed] == [job_id]


def test_a_whole_exchange_sent_again_settles_and_claims_once(line: LiveQueue) -> None:
    ids = line.add_many(3)
    settlements = [
        Settlement(job.id, job.token, Outcome.FAIL, error_kind="Broken", delay_ms=60_000) for job in line.claim(2)
    ]
    first = line.exchange(1, settlements)

    again = line.exchange(1, settlements, number=line.last_number)

    assert first.settled == (Answer.OK, Answer.OK)
    assert again.settled == (Answer.ALREADY_DONE, Answer.ALREADY_DONE)
    assert again.claimed == first.claimed
    assert [line.job(job_id).failures for job_id in ids] == [1, 1, 0]
    assert line.count("failed") == 2


def test_what_runs_is_adopted_from_a_paused_queue_too(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    line.run(operations.pause(line.name))

    again = line.exchange(1, number=line.last_number)

    assert [job.id for job in again.claimed] == [job_id]


def test_a_claim_is_remembered_for_two_leases(line: LiveQueue) -> None:
    line.add()

    line.claim_one(run_id="worker-7", lease_ms=20_000)

    assert 20_000 < line.raw.pttl(line.key("claim:worker-7")) <= 40_000
