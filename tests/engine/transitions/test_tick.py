"""tick: one bounded sweep, by any number of workers."""

import pytest

from leaseforge import operations
from leaseforge.exchanges import Outcome
from leaseforge.requests import new_job
from tests.support.live_queue import LiveQueue


def test_a_sweep_of_a_queue_that_is_not_there_finds_nothing(line: LiveQueue) -> None:
    ticked = line.tick()

    assert (ticked.recovered, ticked.dead, ticked.promoted, ticked.trimmed) == (0, 0, 0, 0)
    assert (ticked.next_due_ms, ticked.full) == (None, False)


def test_the_next_due_job_is_told_whichever_set_it_waits_in(line: LiveQueue) -> None:
    scheduled = line.add(delay_ms=60_000)
    assert 30_000 < (line.tick().next_due_ms or 0) <= 60_000

    line.add(priority=1)
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken", delay_ms=20_000)
    assert 10_000 < (line.tick().next_due_ms or 0) <= 20_000

    line.make_due(scheduled, at_ms=line.now_ms() + 9000)
    assert 0 < (line.tick().next_due_ms or 0) <= 9000


def test_follow_ups_that_wait_for_their_queues_are_counted(line: LiveQueue) -> None:
    assert line.tick().follow_ups == 0

    line.add()
    there = new_job("next", queue="elsewhere")
    line.settle(line.claim_one(), Outcome.COMPLETE, follow_ups=(there,))

    assert line.tick().follow_ups == 1


def test_a_foreign_key_in_the_place_of_the_outbox_stops_no_sweep_and_does_not_go_unnoticed(line: LiveQueue) -> None:
    job_id = line.add(delay_ms=60_000)
    line.raw.set("lf:{line}:outbox", "foreign")
    line.make_due(job_id, at_ms=line.now_ms() - 1)

    ticked = line.tick()

    assert (ticked.promoted, ticked.follow_ups) == (1, 1)


def test_two_sweepers_recover_each_lease_once(line: LiveQueue) -> None:
    job_id = line.add()
    line.claim_one()
    line.expire(job_id)

    assert [line.tick().recovered for _ in range(3)] == [1, 0, 0]

    assert line.job(job_id).recoveries == 1


def test_a_token_that_a_dead_worker_took_along_is_put_back(line: LiveQueue) -> None:
    line.add()
    assert line.take_wake_token()

    line.tick()

    assert line.take_wake_token()


def test_no_token_is_put_where_nothing_waits(line: LiveQueue) -> None:
    line.add()
    line.claim_one()
    line.take_wake_token()

    line.tick()

    assert not line.take_wake_token()


@pytest.mark.parametrize("paused", [True, False])
def test_a_token_is_put_back_only_while_jobs_can_be_claimed(line: LiveQueue, paused: bool) -> None:
    line.add()
    if paused:
        line.run(operations.pause(line.name))
    line.take_wake_token()

    line.tick()

    assert line.take_wake_token() is not paused


def test_there_is_never_more_than_one_token(line: LiveQueue) -> None:
    for _ in range(3):
        line.add()
        line.tick()
        line.exchange(0)

    assert line.snapshot().wake == 1
