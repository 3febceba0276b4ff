"""Fields that hold no number or no text: they count as unset, and nothing that touches the job stops at them."""

import pytest

from leaseforge import reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.queues import QueueLimits
from tests.support.live_queue import LiveQueue

NUMBERS = ("rev", "attempts", "failures", "recoveries", "replays", "releases", "priority", "created_at", "ready_at")


@pytest.mark.parametrize("text", ["", "abc", "nan", "inf", "-1e400", "9" * 60, "\ud83d"])
def test_numbers_that_are_none_stop_neither_claim_nor_settlement_nor_recovery(line: LiveQueue, text: str) -> None:
    ids = line.add_many(4)
    broken = ids[1]
    raw = text.encode("utf-8", "surrogatepass")
    line.raw.hset(line.record_key(broken), mapping=dict.fromkeys((*NUMBERS, "size"), raw))
    line.raw.hset(line.key("meta"), mapping={"fence": raw, "lease_ms": raw})

    claimed = {job.id: job for _ in range(3) for job in line.claim(4)}
    assert list(claimed) == ids
    line.settle(claimed[broken], Outcome.RELEASE)
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="Broken")
    line.tick()
    line.expire(line.claim_one().id)
    line.tick()
    assert line.renew(claimed[ids[0]])[0] == "ok"

    assert line.state(broken) is JobState.READY
    assert line.run(reads.queue(line.name)).counts[JobState.READY] == 1
    assert line.job(broken).rev > 0


def test_text_that_is_no_text_stops_no_claim(line: LiveQueue) -> None:
    before, broken, after = line.add_many(3)
    fields = ("type", "content_type", "options", "tags", "traceparent", "created_by")
    line.raw.hset(line.record_key(broken), mapping=dict.fromkeys(fields, b"\xff\xfe"))

    claimed = line.claim(3)

    assert [job.id for job in claimed] == [before, broken, after]
    assert claimed[1].tags == ()
    assert line.exchange(3, number=line.last_number).claimed == claimed


def test_counters_that_are_none_hide_nothing_that_was_done(line: LiveQueue) -> None:
    line.add_many(2)
    line.raw.hset(line.key("counts"), mapping={"claimed": "many", "completed": "9" * 30})

    claimed = line.claim(2)

    assert len(claimed) == 2
    line.settle(claimed[0], Outcome.COMPLETE)
    totals = line.run(reads.queue(line.name)).totals
    assert (totals["enqueued"], totals.get("claimed", 0)) == (2, 0)
    line.raw.hset(line.key("counts"), mapping={"claimed": 2, "completed": 1})


@pytest.mark.parametrize("part", [":history", ":out"])
def test_a_foreign_key_beside_the_record_is_replaced_when_it_is_needed(line: LiveQueue, part: str) -> None:
    job_id = line.add()
    line.raw.hset(line.record_key(job_id, part), "foreign", "1")
    claimed = line.claim_one()
    outcome = Outcome.COMPLETE if part == ":out" else Outcome.RELEASE

    line.settle(claimed, outcome, result=b"ours")

    job = line.job(job_id)
    assert job.result == b"ours" if part == ":out" else len(job.history) == 1


def test_damaged_jobs_are_still_shown(line: LiveQueue) -> None:
    ids = line.add_many(4)
    line.raw.delete(line.record_key(ids[0]))
    line.raw.set(line.record_key(ids[1]), b"no hash")
    line.raw.hset(line.record_key(ids[2]), mapping={"state": "no-state", "tags": "{", "created_at": "x", "seq": "x"})
    line.raw.zadd(line.key("ready"), {"junk": 0})
    line.foreign = 1

    page = line.run(reads.jobs(line.name, JobState.READY))
    info = line.run(reads.queue(line.name))

    assert page.total == info.counts[JobState.READY] == 5
    assert {job.id for job in page.items} == {*ids, "junk"}
    line.raw.hset(line.record_key(ids[2]), "state", "ready")
    line.raw.hset(line.record_key(ids[2]), "seq", "3")
    line.claim(5)


@pytest.mark.parametrize("name", [*JobState, "meta", "counts"])
def test_a_foreign_key_in_a_queue_is_named_and_the_rest_of_the_queue_is_shown(line: LiveQueue, name: str) -> None:
    line.add(delay_ms=60_000)
    line.add()
    with line.planted(name, b"foreign"):
        info = line.run(reads.queue(line.name))
        page = line.run(reads.jobs(line.name, JobState(name))) if name in [*JobState] else None

    assert info.foreign_keys == (name,)
    shown = {state: 1 for state in (JobState.READY, JobState.SCHEDULED) if state != name}
    assert {state: count for state, count in info.counts.items() if count} == shown
    assert page is None or (page.total, page.items) == (0, ())


def test_limits_that_are_no_numbers_are_shown_as_none(line: LiveQueue) -> None:
    line.add()
    words = {"max_running": b"\xff", "rate": "many", "burst": "nan", "keep_ms": "inf", "keep": ""}
    line.raw.hset(line.key("meta"), mapping=words)

    assert line.run(reads.queue(line.name)).limits == QueueLimits()
    line.raw.hdel(line.key("meta"), *words)
