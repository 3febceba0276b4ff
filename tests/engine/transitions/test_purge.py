"""purge: ready -> gone, of exactly the jobs an operator was shown."""

from collections.abc import Sequence

import pytest

from leaseforge import calls, operations, reads
from leaseforge.claimed import Claimed
from leaseforge.errors import BadInput
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.jobs import JobState
from leaseforge.queues import QueueInfo
from tests.support.live_queue import LiveQueue


def shown(line: LiveQueue) -> QueueInfo:
    """What the operator sees before confirming. A millisecond later something else may have become ready."""
    info = line.run(reads.queue(line.name))
    while line.now_ms() <= info.as_of_ms:
        pass
    return info


def purge(line: LiveQueue, info: QueueInfo) -> int:
    return line.run(operations.purge(line.name, sequence=info.sequence, as_of_ms=info.as_of_ms)).removed


def release(line: LiveQueue, claimed: Sequence[Claimed]) -> None:
    for start in range(0, len(claimed), 200):
        part = claimed[start : start + 200]
        line.exchange(0, [Settlement(job.id, job.token, Outcome.RELEASE) for job in part])


def test_ready_jobs_go_without_a_trace(line: LiveQueue) -> None:
    ids = line.add_many(3)
    line.settle(line.claim_one(), Outcome.RELEASE)  # leaves a history

    assert purge(line, shown(line)) == 3

    assert line.ready() == []
    assert [key for job_id in ids for key in line.raw.keys(line.record_key(job_id, "*"))] == []
    assert line.count("purged") == 3


def test_only_ready_jobs_go(line: LiveQueue) -> None:
    running = line.add()
    line.claim_one()
    scheduled = line.add(delay_ms=60_000)
    dead = line.add()
    line.kill(dead)
    line.add()

    assert purge(line, shown(line)) == 1

    assert [line.state(job_id) for job_id in (running, scheduled, dead)] == [
        JobState.RUNNING,
        JobState.SCHEDULED,
        JobState.DEAD,
    ]


def test_what_arrived_later_stays(line: LiveQueue) -> None:
    line.add_many(3)
    later = line.add(delay_ms=60_000)
    info = shown(line)
    fresh, above, below = line.add(), line.add(priority=5), line.add(priority=-5)
    line.make_due(later)
    line.tick()

    assert purge(line, info) == 3

    assert line.ready() == [above, fresh, later, below]


def test_what_was_released_or_recovered_since_stays_though_its_sequence_is_old(line: LiveQueue) -> None:
    released, recovered, waiting = line.add_many(3)
    claimed = line.claim(2)
    info = shown(line)
    line.settle(claimed[0], Outcome.RELEASE)
    line.expire(recovered)
    line.tick()

    assert purge(line, info) == 1

    assert line.ready() == [released, recovered]
    assert line.run(reads.queue(line.name)).totals["purged"] == 1
    assert line.raw.exists(line.record_key(waiting)) == 0


def test_a_replayed_job_stays(line: LiveQueue) -> None:
    job_id = line.add()
    line.kill(job_id)
    info = shown(line)
    line.run(operations.retry(job_id, operation="op"))

    assert purge(line, info) == 0

    assert line.state(job_id) is JobState.READY


def test_a_purge_repeated_removes_nothing_more(line: LiveQueue) -> None:
    line.add_many(3)
    info = shown(line)
    purge(line, info)
    line.add()

    with line.unchanged():
        assert purge(line, info) == 0


def test_six_hundred_jobs_over_several_priorities_go_in_chunks_around_those_that_stay(line: LiveQueue) -> None:
    kept, later = [], []
    for priority in (7, 0, -7):
        line.add_many(230, priority=priority)
    claimed = [job for _ in range(4) for job in line.claim(200)]
    info = shown(line)
    # Every third one was running when the count was shown and is given back after it; the rest was shown.
    release(line, claimed)
    for place, job in enumerate(claimed):
        if place % 3:
            line.raw.hset(line.record_key(job.id), "ready_at", info.as_of_ms - 1)
        else:
            kept.append(job.id)
    for priority in (7, 0, -7):
        later += line.add_many(5, priority=priority)

    removed = purge(line, info)

    assert removed == 690 - len(kept)
    assert sorted(line.ready()) == sorted(kept + later)


def test_hundreds_that_stay_in_one_priority_are_passed_over_once(line: LiveQueue) -> None:
    line.add_many(700)
    claimed = [job for _ in range(4) for job in line.claim(200)]
    info = shown(line)
    # Draining workers give back what they held in no particular order.
    release(line, claimed[::-1])
    chunks, score, skip = 0, "-inf", 0

    while score:
        chunk = line.run(calls.purge(line.name, sequence=info.sequence, as_of_ms=info.as_of_ms, score=score, skip=skip))
        score, skip = chunk.score, chunk.skip
        assert chunk.removed == 0
        chunks += 1
        assert chunks <= 4


def test_a_purge_of_an_empty_queue_removes_nothing(line: LiveQueue) -> None:
    line.run(calls.resume(line.name))

    assert line.run(operations.purge(line.name, sequence=10, as_of_ms=line.now_ms())).removed == 0


def test_a_bad_queue_name_is_refused(line: LiveQueue) -> None:
    with pytest.raises(BadInput):
        line.run(operations.purge("no queue", sequence=1, as_of_ms=1))
