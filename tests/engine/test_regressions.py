"""What was once wrong and found by exploring (tests/model), each as the shortest way there."""

from leaseforge.answers import Answer
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue


def test_jobs_of_a_crashed_worker_with_a_short_lease_are_recovered_by_sweeps_that_are_slower(line: LiveQueue) -> None:
    """Each sweep of a worker with a longer lease looked like the end of an outage, and none ever recovered."""
    line.tick()
    job_id = line.add()
    line.claim_one(lease_ms=500)
    line.expire(job_id)

    for _ in range(4):
        for time in ("swept_at", "recover_from"):
            if line.raw.hexists(line.key("meta"), time):
                line.raw.hincrby(line.key("meta"), time, -2000)
        line.tick()

    assert line.state(job_id) is JobState.READY
    assert line.count("recovered") == 1


def test_a_job_that_falls_due_in_a_repeated_exchange_wakes_a_worker(line: LiveQueue) -> None:
    """The repeat promotes it, and then adopts what the first try claimed: nobody was told of the new job."""
    line.add()
    later = line.add(delay_ms=60_000)
    line.exchange(1)
    line.take_wake_token()
    line.make_due(later)

    again = line.exchange(1, number=line.last_number)

    assert again.status is Answer.ALREADY_DONE
    assert again.more
    assert line.take_wake_token()


def test_a_job_that_falls_due_in_an_exchange_of_the_past_wakes_a_worker(line: LiveQueue) -> None:
    """An older number claims nothing, but what it promotes is there to be claimed."""
    line.add()
    later = line.add(delay_ms=60_000)
    line.exchange()
    line.exchange(1)
    line.take_wake_token()
    line.make_due(later)

    late = line.exchange(1, number=line.last_number - 1)

    assert not late.claimed
    assert late.more
    assert line.take_wake_token()


def test_what_happened_before_the_first_sweep_is_in_the_coarse_statistics_too(line: LiveQueue) -> None:
    """Buckets older than the last closed one were skipped when a queue was swept for the first time."""
    line.add()
    [fresh] = line.raw.keys(line.key("stats:10:*"))
    number = int(fresh.rpartition(b":")[2])
    line.raw.rename(fresh, line.key(f"stats:10:{number - 30}"))

    for _ in range(12):
        line.tick()

    coarse = [int(line.raw.hget(key, "enqueued")) for key in line.raw.keys(line.key("stats:3600:*"))]
    assert coarse == [1]
