"""recover after a gap in sweeping: live workers may renew first, so that an outage is no mass double run."""

from leaseforge.answers import Answer
from leaseforge.jobs import JobState
from tests.support.live_queue import LEASE_MS, LiveQueue


def expired(line: LiveQueue, count: int = 1) -> list[str]:
    """Jobs that run under leases which ended while nobody swept."""
    ids = line.add_many(count)
    line.claim(count)
    line.expire(*ids)
    return ids


def grace_passes(line: LiveQueue) -> None:
    """Moves the moment from which recovery may go on into the past."""
    line.raw.hset(line.key("meta"), "recover_from", line.now_ms() - 1)


def test_the_first_sweep_ever_recovers_at_once(line: LiveQueue) -> None:
    expired(line)

    assert line.tick().recovered == 1


def test_every_sweep_notes_when_it_was_also_one_that_may_not_recover_yet(line: LiveQueue) -> None:
    expired(line)
    line.sweep_stopped(ago_ms=LEASE_MS)

    for _ in range(2):
        before_ms = line.now_ms()
        line.tick()
        assert before_ms <= int(line.raw.hget(line.key("meta"), "swept_at")) <= line.now_ms()


def test_a_sweep_soon_after_the_last_one_recovers_at_once(line: LiveQueue) -> None:
    expired(line)
    line.sweep_stopped(ago_ms=LEASE_MS // 4)

    assert line.tick().recovered == 1


def test_after_a_gap_nothing_is_recovered_for_a_third_of_a_lease(line: LiveQueue) -> None:
    [job_id] = expired(line)
    line.sweep_stopped(ago_ms=LEASE_MS)
    before_ms = line.now_ms()

    assert line.tick().recovered == 0
    assert line.tick().recovered == 0

    from_ms = int(line.raw.hget(line.key("meta"), "recover_from"))
    assert before_ms + LEASE_MS // 3 <= from_ms <= line.now_ms() + LEASE_MS // 3
    grace_passes(line)
    assert line.tick().recovered == 1
    assert line.state(job_id) is JobState.READY


def test_workers_that_renew_in_time_keep_their_jobs(line: LiveQueue) -> None:
    ids = line.add_many(2)
    alive, gone = line.claim(2)
    line.expire(*ids)
    line.sweep_stopped(ago_ms=LEASE_MS)
    line.tick()

    assert line.renew(alive) == (Answer.OK,)
    grace_passes(line)
    line.tick()

    assert line.state(alive.id) is JobState.RUNNING
    assert line.state(gone.id) is JobState.READY


def test_a_second_gap_within_a_lease_does_not_put_recovery_off_again(line: LiveQueue) -> None:
    expired(line)
    line.sweep_stopped(ago_ms=LEASE_MS)
    line.tick()
    grace_passes(line)
    line.sweep_stopped(ago_ms=LEASE_MS)

    assert line.tick().recovered == 1


def test_a_gap_more_than_a_lease_after_the_last_one_counts_anew(line: LiveQueue) -> None:
    expired(line)
    line.raw.hset(line.key("meta"), "recover_from", line.now_ms() - LEASE_MS)
    line.sweep_stopped(ago_ms=LEASE_MS)

    assert line.tick().recovered == 0


def test_the_longest_lease_in_use_decides_what_a_gap_is(line: LiveQueue) -> None:
    line.add()
    line.claim_one(run_id="patient", lease_ms=6 * LEASE_MS)
    expired(line)
    line.sweep_stopped(ago_ms=LEASE_MS)

    assert line.tick().recovered == 1


def test_due_jobs_are_promoted_all_the_same(line: LiveQueue) -> None:
    expired(line)
    later = line.add(delay_ms=60_000)
    line.make_due(later)
    line.sweep_stopped(ago_ms=LEASE_MS)

    ticked = line.tick()

    assert (ticked.recovered, ticked.promoted) == (0, 1)
