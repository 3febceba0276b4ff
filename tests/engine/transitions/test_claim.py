"""claim: ready -> running."""

import pytest

from leaseforge import exchanges, operations
from leaseforge.answers import Answer
from leaseforge.jobs import JobState, Options
from tests.support.live_queue import LEASE_MS, LiveQueue

TRACEPARENT = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"


def test_a_claim_hands_over_everything_the_job_was_enqueued_with(line: LiveQueue) -> None:
    options = {"max_attempts": 7, "timeout_ms": 900, "backoff": "fixed", "backoff_base_ms": 5, "backoff_cap_ms": 6}
    payload = bytes(range(256))
    job_id = line.add(
        "send 📨", payload, priority=-3, tags=("a", "b"), traceparent=TRACEPARENT, content_type="text/x", **options
    )
    before_ms = line.now_ms()

    claimed = line.claim_one(run_id="worker-7")

    assert (claimed.id, claimed.queue, claimed.type, claimed.payload) == (job_id, "line", "send 📨", payload)
    assert (claimed.priority, claimed.content_type, claimed.tags) == (-3, "text/x", ("a", "b"))
    assert claimed.traceparent == TRACEPARENT
    assert claimed.options == Options(**options)  # type: ignore[arg-type]  # a plain word stands for the enum member
    assert (claimed.attempt, claimed.failures, claimed.recoveries, claimed.replays) == (1, 0, 0, 0)
    assert claimed.created_at_ms == claimed.ready_at_ms <= before_ms
    assert claimed.token == f"{claimed.fence}.worker-7"


def test_a_claimed_job_is_running_under_a_lease(line: LiveQueue) -> None:
    job_id = line.add()
    before_ms = line.now_ms()

    claimed = line.claim_one(run_id="worker-7", lease_ms=4000)

    job = line.job(job_id)
    assert job.state is JobState.RUNNING
    assert job.attempts == 1
    assert job.worker == "worker-7"
    assert job.started_at is not None
    assert job.lease is not None
    assert job.lease.fence == claimed.fence
    expires_ms = job.lease.expires_at.timestamp() * 1000
    assert before_ms + 4000 <= expires_ms <= line.now_ms() + 4000
    assert line.field(job_id, "rev") == "2"
    assert line.count("claimed") == 1
    assert line.raw.hget(line.key("meta"), "lease_ms") == b"4000"


def test_jobs_come_by_priority_then_in_the_order_they_became_ready(line: LiveQueue) -> None:
    low = line.add(priority=-1)
    first, second = line.add(), line.add()
    high = line.add(priority=2**31 - 1)
    lowest = line.add(priority=-(2**31))

    claimed = [job.id for job in line.claim(5)]

    assert claimed == [high, first, second, low, lowest]


def test_an_empty_queue_answers_empty(line: LiveQueue) -> None:
    answer = line.exchange(5)

    assert (answer.status, answer.claimed, answer.more, answer.wait_ms) == (Answer.EMPTY, (), False, None)


def test_a_paused_queue_answers_paused_and_gives_nothing_out(line: LiveQueue) -> None:
    line.add()
    line.run(operations.pause(line.name))

    answer = line.exchange(5)

    assert (answer.status, answer.claimed, answer.more) == (Answer.PAUSED, (), False)
    assert answer.wait_ms is None


def test_a_claim_takes_no_more_than_was_asked_for(line: LiveQueue) -> None:
    ids = line.add_many(5)

    answer = line.exchange(2)

    assert [job.id for job in answer.claimed] == ids[:2]
    assert answer.status is Answer.OK
    assert answer.more
    assert line.ready() == ids[2:]


@pytest.mark.parametrize("want", [-1, 201])
def test_more_than_a_script_may_touch_cannot_be_asked_for(line: LiveQueue, want: int) -> None:
    with pytest.raises(ValueError, match="at most 200"):
        exchanges.exchange(line.name, run_id="w1", number=1, lease_ms=LEASE_MS, want=want)


def test_two_hundred_jobs_come_in_one_claim(line: LiveQueue) -> None:
    ids = line.add_many(201)

    claimed = line.claim(200)

    assert [job.id for job in claimed] == ids[:200]
    assert len({job.token for job in claimed}) == 200


def test_a_claim_stops_at_four_mebibytes_of_payload(line: LiveQueue) -> None:
    ids = [line.add(payload=bytes(1024 * 1024)) for _ in range(6)]

    first, second = line.exchange(6), line.exchange(6)

    assert [job.id for job in first.claimed] == ids[:4]
    assert first.more
    assert [job.id for job in second.claimed] == ids[4:]
    assert all(len(job.payload) == 1024 * 1024 for job in first.claimed + second.claimed)


def test_a_claim_that_leaves_work_wakes_one_more_worker(line: LiveQueue) -> None:
    line.add_many(3)
    assert line.take_wake_token()

    line.claim(2)

    assert line.take_wake_token()
    assert not line.take_wake_token()


def test_a_claim_that_takes_the_last_job_wakes_nobody(line: LiveQueue) -> None:
    line.add_many(2)
    line.take_wake_token()

    line.claim(2)

    assert not line.take_wake_token()


def test_a_worker_without_room_passes_the_wake_token_on(line: LiveQueue) -> None:
    line.add()
    line.take_wake_token()

    answer = line.exchange(0)

    assert answer.claimed == ()
    assert answer.more
    assert line.take_wake_token()


def test_tokens_go_on_from_the_last_one_even_when_it_is_ahead_of_the_clock(line: LiveQueue) -> None:
    line.add_many(2)
    line.raw.hset(line.key("meta"), "fence", 2**52)

    first, second = line.claim(2)

    assert 2**52 < first.fence < second.fence


def test_tokens_grow_even_after_the_queue_lost_its_last_one(line: LiveQueue) -> None:
    line.add_many(2)
    first = line.claim_one()
    line.raw.hdel(line.key("meta"), "fence")

    second = line.claim_one()

    assert second.fence > first.fence


def test_the_longest_lease_that_was_used_is_remembered(line: LiveQueue) -> None:
    line.add_many(2)

    line.claim_one(lease_ms=60_000)
    line.claim_one(lease_ms=1000)

    assert line.raw.hget(line.key("meta"), "lease_ms") == b"60000"
