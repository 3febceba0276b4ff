"""What API, console and producers look at."""

import uuid
from datetime import UTC, datetime

import pytest

from leaseforge import limits, operations, reads, statistics
from leaseforge.errors import BadInput, JobNotFound, QueueNotFound
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from tests.support.live_queue import LiveQueue


def end(line: LiveQueue, count: int, outcome: Outcome = Outcome.COMPLETE) -> list[str]:
    """Jobs that ended one after the other, the oldest first."""
    ids = line.add_many(count)
    state = "completed" if outcome is Outcome.COMPLETE else "dead"
    for place, claimed in enumerate(line.claim(count)):
        line.settle(claimed, outcome, permanent="told_so")
        line.age(state, [claimed.id], (count - place) * 1000)
    return ids


def test_a_queue_counts_its_jobs_by_state(line: LiveQueue) -> None:
    end(line, 2)
    end(line, 1, Outcome.FAIL)
    line.add(delay_ms=60_000)
    line.add_many(3)
    line.claim_one()

    info = line.run(reads.queue(line.name))

    assert dict(info.counts) == {
        JobState.SCHEDULED: 1,
        JobState.READY: 2,
        JobState.RUNNING: 1,
        JobState.RETRYING: 0,
        JobState.COMPLETED: 2,
        JobState.DEAD: 1,
        JobState.CANCELLED: 0,
    }
    assert info.size == 7
    assert (info.totals["enqueued"], info.totals["claimed"], info.totals["completed"]) == (7, 4, 2)
    assert info.sequence == 6
    assert abs(info.as_of_ms - line.now_ms()) < 60_000


@pytest.mark.parametrize("priority_of_oldest", [3, 0, -3])
def test_the_age_of_the_oldest_ready_job_is_found_in_any_priority(line: LiveQueue, priority_of_oldest: int) -> None:
    for priority in range(-3, 4):
        line.add(priority=priority)
    oldest = line.add(priority=priority_of_oldest)
    line.raw.zrem(line.key("ready"), *[m for m in line.snapshot().sets["ready"] if oldest not in m])
    for priority in range(-3, 4):
        line.add(priority=priority)
    line.raw.hset(line.record_key(oldest), "ready_at", line.now_ms() - 90_000)

    oldest_s = line.run(reads.queue(line.name)).oldest_ready_s

    assert oldest_s is not None
    assert 90 <= oldest_s < 150
    line.raw.flushdb()


def test_a_queue_without_ready_jobs_has_no_oldest(line: LiveQueue) -> None:
    line.add(delay_ms=60_000)

    assert line.run(reads.queue(line.name)).oldest_ready_s is None


def test_queues_come_in_the_order_of_their_names(line: LiveQueue) -> None:
    line.run(operations.enqueue_many([new_job("work", queue=name) for name in ("b", "a", "B", "c.1")]))

    assert line.run(reads.queue_names()) == ["B", "a", "b", "c.1"]
    assert [info.name for info in line.run(reads.queues())] == ["B", "a", "b", "c.1"]


def test_an_unknown_queue_is_told(line: LiveQueue) -> None:
    with pytest.raises(QueueNotFound):
        line.run(reads.queue("nowhere"))
    with pytest.raises(BadInput):
        line.run(reads.queue("no where"))
    assert line.run(reads.queues()) == []
    assert line.run(reads.jobs("nowhere", JobState.READY)).total == 0


@pytest.mark.parametrize("job_id", ["", "x", "{}", str(uuid.UUID(int=0)), "../../etc", "A" * 36])
def test_an_unknown_job_is_told(line: LiveQueue, job_id: str) -> None:
    line.add()

    with pytest.raises(JobNotFound):
        line.run(reads.job(job_id))


def test_lists_have_the_order_of_their_state(line: LiveQueue) -> None:
    completed = end(line, 3)
    dead = end(line, 3, Outcome.FAIL)
    soon, later = line.add(delay_ms=60_000), line.add(delay_ms=90_000)
    running = [line.add() for _ in range(2)]
    line.claim_one(lease_ms=60_000)
    line.claim_one(lease_ms=1000)
    low, high = line.add(priority=-1), line.add(priority=1)

    def listed(state: JobState) -> list[str]:
        return [job.id for job in line.run(reads.jobs(line.name, state)).items]

    assert listed(JobState.COMPLETED) == completed[::-1]
    assert listed(JobState.DEAD) == dead[::-1]
    assert listed(JobState.SCHEDULED) == [soon, later]
    assert listed(JobState.RUNNING) == running[::-1]
    assert listed(JobState.READY) == [high, low]
    assert listed(JobState.CANCELLED) == []


def test_pages_cover_a_list_once_and_carry_no_payloads(line: LiveQueue) -> None:
    ids = line.add_many(25)

    pages = [line.run(reads.jobs(line.name, JobState.READY, offset=offset, limit=10)) for offset in (0, 10, 20, 30)]

    assert [job.id for page in pages for job in page.items] == ids
    assert {page.total for page in pages} == {25}
    assert {job.payload for page in pages for job in page.items} == {None}
    assert pages[1].items[0].state is JobState.READY


@pytest.mark.parametrize(
    ("offset", "limit"), [(-1, 10), (0, 0), (0, limits.MAX_PAGE + 1), (limits.MAX_OFFSET + 1, 10), (-5, -5)]
)
def test_a_page_outside_its_bounds_is_refused(line: LiveQueue, offset: int, limit: int) -> None:
    with pytest.raises(BadInput, match=r"offset|limit"):
        line.run(reads.jobs(line.name, JobState.READY, offset=offset, limit=limit))


def test_a_running_job_shows_its_lease_in_lists_too(line: LiveQueue) -> None:
    job_id = line.add()
    claimed = line.claim_one()

    [listed] = line.run(reads.jobs(line.name, JobState.RUNNING)).items

    assert listed.lease == line.job(job_id).lease
    assert listed.lease is not None
    assert listed.lease.fence == claimed.fence


def test_throughput_has_no_gaps_and_ends_with_now(line: LiveQueue) -> None:
    end(line, 3)

    series = line.run(statistics.throughput(seconds=60, queue=line.name))

    assert (series.step_s, len(series.points)) == (10, 6)
    assert sum(point.enqueued for point in series.points) == 3
    assert sum(point.completed for point in series.points) == 3
    times = [point.at.timestamp() for point in series.points]
    assert times == [times[0] + 10 * place for place in range(6)]
    assert 0 <= line.now_ms() / 1000 - times[-1] < 60


def test_throughput_of_all_queues_is_their_sum_and_of_one_its_own(line: LiveQueue) -> None:
    line.run(operations.enqueue_many([new_job("work", queue=name) for name in ("a", "a", "b")]))
    for _ in range(2):  # a bucket added up twice counts once
        assert line.run(statistics.add_up(holder="one"))

    def enqueued(queue: str | None) -> int:
        return sum(point.enqueued for point in line.run(statistics.throughput(queue=queue)).points)

    assert (enqueued(None), enqueued("a"), enqueued("b")) == (3, 2, 1)
    assert line.run(statistics.throughput(seconds=10**9)).points[0].at < datetime.now(UTC)


def test_queues_read_on_two_sides_of_a_steps_end_are_not_added_up_one_step_apart() -> None:
    quiet, busy = [0] * len(statistics.SERIES), [1] * len(statistics.SERIES)

    call = statistics.add_call(
        statistics.Step.TEN_SECONDS, 3, [(49_999, [quiet, busy, quiet]), (50_000, [busy, quiet, quiet])]
    )

    triples = list(zip(call.rest[::3], call.rest[1::3], call.rest[2::3], strict=True))
    assert triples == [(3, name, 2) for name in statistics.SERIES]


def test_only_one_process_at_a_time_adds_up(line: LiveQueue) -> None:
    assert line.run(statistics.add_up(holder="one"))
    assert not line.run(statistics.add_up(holder="two"))


def test_without_any_queue_nothing_went_through(line: LiveQueue) -> None:
    assert {point.enqueued for point in line.run(statistics.throughput()).points} == {0}


def test_totals_are_the_sum_over_queues(line: LiveQueue) -> None:
    line.run(operations.enqueue_many([new_job("work", queue=name) for name in ("a", "a", "b")]))

    assert reads.totals(line.run(reads.queues()))["enqueued"] == 3


def test_statistics_go_after_two_hours(line: LiveQueue) -> None:
    line.add()

    [bucket] = line.raw.keys(line.key("stats:*"))
    assert 7_000_000 < line.raw.pttl(bucket) <= 7_200_000
