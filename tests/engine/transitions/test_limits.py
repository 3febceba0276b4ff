"""A queue's own limits: claims keep to cap and rate, raising one wakes a worker, retention goes before the default."""

from typing import Any

import pytest

from leaseforge import exchanges, operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import BadInput, QueueNotFound
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.queues import QueueLimits
from tests.support.live_queue import LiveQueue


def configure(line: LiveQueue, **limits: float | None) -> Any:
    return line.run(operations.configure(line.name, limits))


def bucket_since(line: LiveQueue, *, tokens: float, ago_ms: int) -> None:
    """Lets the queue's bucket have held so much that long ago."""
    line.raw.hset(line.key("meta"), mapping={"tokens": tokens, "tokens_at": line.now_ms() - ago_ms})


def test_a_cap_bounds_what_runs_over_all_workers(line: LiveQueue) -> None:
    line.add_many(5)
    configure(line, max_running=3)

    first = line.exchange(2, run_id="w1")
    second = line.exchange(2, run_id="w2")
    third = line.exchange(2, run_id="w3")

    assert [len(answer.claimed) for answer in (first, second, third)] == [2, 1, 0]
    assert [answer.more for answer in (first, second, third)] == [True, False, False]
    assert third.wait_ms is None


def test_what_ends_makes_room_and_wakes_a_worker(line: LiveQueue) -> None:
    line.add_many(2)
    configure(line, max_running=1)
    claimed = line.claim_one()
    line.take_wake_token()

    line.settle(claimed, Outcome.COMPLETE)

    assert line.take_wake_token()
    assert len(line.claim(2)) == 1


def test_a_capped_queue_wakes_nobody_while_it_is_full(line: LiveQueue) -> None:
    line.add()
    configure(line, max_running=1)
    line.claim_one()
    line.take_wake_token()

    line.add()

    assert not line.take_wake_token()


@pytest.mark.parametrize("limits", [{"max_running": 2}, {"max_running": None}])
def test_a_raised_cap_wakes_a_worker(line: LiveQueue, limits: dict[str, float | None]) -> None:
    line.add_many(2)
    configure(line, max_running=1)
    line.claim_one()
    line.take_wake_token()

    configure(line, **limits)

    assert line.take_wake_token()


def test_a_lost_worker_s_jobs_do_not_block_the_cap(line: LiveQueue) -> None:
    line.add_many(2)
    configure(line, max_running=1)
    lost = line.claim_one()
    line.take_wake_token()
    line.expire(lost.id)

    line.tick()

    assert line.take_wake_token()
    assert line.claim_one().id == lost.id


def test_a_rate_gives_out_its_burst_and_says_how_long_to_wait(line: LiveQueue) -> None:
    line.add_many(5)
    configure(line, rate=0.5, burst=2)

    first, second = line.exchange(5), line.exchange(5)

    assert (len(first.claimed), len(second.claimed)) == (2, 0)
    assert first.wait_ms is not None
    assert second.wait_ms is not None
    assert 0 < second.wait_ms <= first.wait_ms <= 2000
    assert not second.more


def test_a_bucket_fills_with_time_up_to_the_burst(line: LiveQueue) -> None:
    line.add_many(9)
    configure(line, rate=10, burst=3)
    line.claim(3)

    bucket_since(line, tokens=0, ago_ms=210)
    after_a_while = line.claim(9)
    bucket_since(line, tokens=0, ago_ms=3_600_000)
    after_an_hour = line.claim(9)

    assert (len(after_a_while), len(after_an_hour)) == (2, 3)


def test_a_rate_without_a_burst_gives_out_one_at_a_time(line: LiveQueue) -> None:
    line.add_many(3)
    configure(line, rate=0.001)

    assert len(line.claim(3)) == 1
    assert line.claim(3) == ()


def test_a_tick_wakes_a_worker_when_the_rate_allows_a_claim(line: LiveQueue) -> None:
    line.add_many(2)
    configure(line, rate=0.001)
    line.claim(2)
    line.take_wake_token()
    line.tick()
    assert not line.take_wake_token()

    bucket_since(line, tokens=1, ago_ms=0)
    line.tick()

    assert line.take_wake_token()


def test_a_new_rate_begins_with_a_full_bucket(line: LiveQueue) -> None:
    line.add_many(4)
    configure(line, rate=0.001)
    line.claim(4)

    configure(line, rate=0.002, burst=2)

    assert len(line.claim(4)) == 2


def test_limits_are_set_kept_and_cleared_one_by_one(line: LiveQueue) -> None:
    line.add()
    configure(line, max_running=3, rate=2.5, burst=7, keep_ms=60_000, keep=0, dead_keep_ms=70_000, dead_keep=9)

    configure(line, burst=None, max_running=4)

    limits = line.run(reads.queue(line.name)).limits
    assert limits == QueueLimits(4, 2.5, None, 60_000, 0, 70_000, 9)


@pytest.mark.parametrize(
    "limits", [{"max_running": 0}, {"rate": -1}, {"burst": 1.5}, {"keep": -1}, {"speed": 1}, {"rate": True}]
)
def test_other_limits_are_refused(line: LiveQueue, limits: dict[str, Any]) -> None:
    line.add()

    with line.unchanged(), pytest.raises(BadInput):
        configure(line, **limits)


def test_an_unknown_queue_has_no_limits(line: LiveQueue) -> None:
    with pytest.raises(QueueNotFound):
        configure(line, max_running=1)


def test_a_queue_s_own_retention_goes_before_the_default(line: LiveQueue) -> None:
    done, dead = line.add(), line.add()
    line.settle(line.claim_one(), Outcome.COMPLETE)
    line.kill(dead)
    line.age("completed", [done], 61_000)
    line.age("dead", [dead], 61_000)
    assert line.tick().trimmed == 0

    configure(line, keep_ms=60_000, dead_keep=0)

    assert line.tick().trimmed == 2


def test_what_ended_within_the_last_minute_is_spared_by_a_count_of_its_own(line: LiveQueue) -> None:
    line.add_many(2)
    for claimed in line.claim(2):
        line.settle(claimed, Outcome.COMPLETE)
    configure(line, keep=0)

    assert line.tick().trimmed == 0
    line.age("completed", line.snapshot().job_ids("completed"), 61_000)
    assert line.tick().trimmed == 2


def test_a_paused_queue_has_no_time_to_wait_for(line: LiveQueue) -> None:
    line.add()
    configure(line, rate=0.001)
    line.run(operations.pause(line.name))

    answer = line.exchange(1)

    assert (answer.status, answer.wait_ms) == (Answer.PAUSED, None)
    assert line.state(line.ready()[0]) is JobState.READY
    assert line.run(exchanges.tick(line.name)).promoted == 0
