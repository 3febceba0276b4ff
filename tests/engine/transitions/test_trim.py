"""trim: completed | cancelled | dead -> gone."""

import pytest

from leaseforge import limits, reads
from leaseforge.errors import JobNotFound
from leaseforge.exchanges import Outcome, Settlement
from tests.support.live_queue import LiveQueue, trim_call

DAY_MS = 86_400_000


def ended(line: LiveQueue, count: int, outcome: Outcome = Outcome.COMPLETE) -> list[str]:
    """Jobs that ended just now, in the order in which they did, with a result and a history."""
    line.add_many(count)
    claimed = line.claim(count)
    line.exchange(0, [Settlement(job.id, job.token, outcome, result=b"ok", permanent="told_so") for job in claimed])
    ids = [job.id for job in claimed]
    state = {Outcome.COMPLETE: "completed", Outcome.CANCELLED: "cancelled", Outcome.FAIL: "dead"}[outcome]
    now = line.now_ms()
    for place, job_id in enumerate(ids):
        line.raw.zadd(line.key(state), {job_id: now - count + place})
    return ids


def test_what_is_older_than_its_age_goes_without_a_trace(line: LiveQueue) -> None:
    old, young = ended(line, 2)
    line.age("completed", [old], limits.KEEP_ENDED_MS + 1000)

    ticked = line.tick()

    assert (ticked.trimmed, ticked.full) == (1, False)
    with pytest.raises(JobNotFound):
        line.job(old)
    assert line.raw.keys(line.record_key(old, "*")) == []
    assert line.snapshot().job_ids("completed") == [young]
    assert line.count("trimmed") == 1


@pytest.mark.parametrize(
    ("outcome", "state", "age_ms"),
    [
        (Outcome.COMPLETE, "completed", limits.KEEP_ENDED_MS),
        (Outcome.CANCELLED, "cancelled", limits.KEEP_ENDED_MS),
        (Outcome.FAIL, "dead", limits.KEEP_DEAD_MS),
    ],
)
def test_each_state_has_its_own_age(line: LiveQueue, outcome: Outcome, state: str, age_ms: int) -> None:
    [job_id] = ended(line, 1, outcome)

    line.age(state, [job_id], age_ms - 60_000)
    assert line.tick().trimmed == 0
    line.age(state, [job_id], age_ms + 1000)
    assert line.tick().trimmed == 1


def test_a_sweep_trims_a_bounded_number_the_oldest_first(line: LiveQueue) -> None:
    ids = ended(line, 5)
    for place, job_id in enumerate(ids):
        line.age("completed", [job_id], 2 * DAY_MS - place)

    ticked = line.tick(limit=3)

    assert (ticked.trimmed, ticked.full) == (3, True)
    assert line.snapshot().job_ids("completed") == ids[3:]


def test_the_bound_holds_over_all_states_together(line: LiveQueue) -> None:
    completed, cancelled = ended(line, 2), ended(line, 2, Outcome.CANCELLED)
    line.age("completed", completed, 2 * DAY_MS)
    line.age("cancelled", cancelled, 2 * DAY_MS)

    assert line.tick(limit=3).trimmed == 3
    assert line.tick(limit=3).trimmed == 1


def test_what_is_beyond_the_count_goes_oldest_first(line: LiveQueue) -> None:
    ids = ended(line, 5)
    for place, job_id in enumerate(ids):
        line.age("completed", [job_id], 120_000 - place)

    removed, full = line.run(trim_call(line.name, keep=3))

    assert (removed, full) == (2, False)
    assert line.snapshot().job_ids("completed") == ids[2:]


def test_what_ended_within_the_last_minute_is_spared_by_count(line: LiveQueue) -> None:
    ids = ended(line, 5)
    line.age("completed", ids[:1], 61_000)
    line.age("completed", ids[1:], 30_000)

    removed, _ = line.run(trim_call(line.name, keep=0))

    assert removed == 1
    assert sorted(line.snapshot().job_ids("completed")) == sorted(ids[1:])


def test_count_and_age_work_together_until_nothing_is_left_to_trim(line: LiveQueue) -> None:
    ids = ended(line, 6)
    line.age("completed", ids[:4], 2 * DAY_MS)
    line.age("completed", ids[4:], 120_000)

    removed = [line.run(trim_call(line.name, keep=5))[0] for _ in range(3)]

    assert sum(removed) == 4
    assert removed[-1] == 0
    assert sorted(line.snapshot().job_ids("completed")) == sorted(ids[4:])


def test_dead_jobs_are_counted_apart(line: LiveQueue) -> None:
    completed, dead = ended(line, 2), ended(line, 2, Outcome.FAIL)
    line.age("completed", completed, 120_000)
    line.age("dead", dead, 120_000)

    assert line.run(trim_call(line.name, dead_keep=1))[0] == 1

    info = line.run(reads.queue(line.name))
    assert (info.counts["completed"], info.counts["dead"]) == (2, 1)  # type: ignore[index]  # StrEnum keys are strings
