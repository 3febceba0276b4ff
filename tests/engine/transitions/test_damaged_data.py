"""What foreign hands or lost memory did to a queue: quarantined or dropped, and never in the way of healthy jobs."""

from collections.abc import Callable

import pytest

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue

Damage = Callable[[LiveQueue, str], None]


def record_missing(line: LiveQueue, job_id: str) -> None:
    line.raw.delete(line.record_key(job_id))


def record_of_wrong_type(line: LiveQueue, job_id: str) -> None:
    line.raw.set(line.record_key(job_id), b"evidence")


def payload_missing(line: LiveQueue, job_id: str) -> None:
    line.raw.delete(line.record_key(job_id, ":in"))


def payload_of_wrong_type(line: LiveQueue, job_id: str) -> None:
    line.raw.delete(line.record_key(job_id, ":in"))
    line.raw.rpush(line.record_key(job_id, ":in"), b"evidence")


def state_missing(line: LiveQueue, job_id: str) -> None:
    line.raw.hdel(line.record_key(job_id), "state")


def sequence_missing(line: LiveQueue, job_id: str) -> None:
    line.raw.hdel(line.record_key(job_id), "seq")


REASONS: list[tuple[Damage, str]] = [
    (record_missing, "record_missing"),
    (record_of_wrong_type, "record_of_wrong_type"),
    (payload_missing, "payload_missing"),
    (payload_of_wrong_type, "payload_missing"),
    (state_missing, "record_missing"),
    (sequence_missing, "sequence_missing"),
]


@pytest.mark.parametrize(("damage", "reason"), REASONS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_claim_quarantines_what_it_cannot_hand_out_and_goes_on(line: LiveQueue, damage: Damage, reason: str) -> None:
    before, broken, after = line.add_many(3)
    damage(line, broken)

    claimed = line.claim(3)

    assert [job.id for job in claimed] == [before, after]
    job = line.job(broken)
    assert (job.state, job.reason) == (JobState.DEAD, reason)
    assert (line.count("quarantined"), line.count("dead")) == (1, 1)
    assert line.ready() == []


@pytest.mark.parametrize("damage", [record_missing, record_of_wrong_type, state_missing])
def test_a_recovery_quarantines_what_it_cannot_read_and_goes_on(line: LiveQueue, damage: Damage) -> None:
    ids = line.add_many(3)
    line.claim(3)
    line.expire(*ids)
    damage(line, ids[1])

    ticked = line.tick()

    assert (ticked.recovered, ticked.dead) == (2, 1)
    assert line.ready() == [ids[0], ids[2]]
    assert line.state(ids[1]) is JobState.DEAD


@pytest.mark.parametrize("damage", [record_missing, record_of_wrong_type, state_missing])
def test_a_promotion_quarantines_what_it_cannot_read_and_goes_on(line: LiveQueue, damage: Damage) -> None:
    ids = [line.add(delay_ms=60_000) for _ in range(3)]
    now = line.now_ms()
    for age, job_id in enumerate(ids):
        line.make_due(job_id, at_ms=now - age)
    damage(line, ids[1])

    ticked = line.tick()

    assert ticked.promoted == 2
    assert line.ready() == [ids[2], ids[0]]
    assert line.state(ids[1]) is JobState.DEAD


def test_a_record_of_a_wrong_type_is_kept_as_evidence_until_the_job_is_deleted(line: LiveQueue) -> None:
    job_id = line.add()
    record_of_wrong_type(line, job_id)
    line.claim(1)

    assert line.raw.get(line.record_key(job_id, ":corrupt")) == b"evidence"

    line.run(operations.delete(job_id))
    assert line.raw.keys(line.record_key(job_id, "*")) == []


def test_a_quarantined_job_whose_payload_is_still_there_can_be_replayed(line: LiveQueue) -> None:
    job_id = line.add(payload=b"still here")
    record_missing(line, job_id)
    line.claim(1)

    line.run(operations.retry(job_id, operation="op"))

    claimed = line.claim_one()
    assert (claimed.id, claimed.payload, claimed.type) == (job_id, b"still here", "unknown")


@pytest.mark.parametrize("member", ["junk", "", "0000000000000001", "x" * 40, "0000000000000001" + "\u00e9" * 10])
def test_a_foreign_entry_among_the_ready_ones_is_quarantined(line: LiveQueue, member: str) -> None:
    line.raw.zadd(line.key("ready"), {member: -1})
    job_id = line.add()
    line.foreign = 1

    assert [job.id for job in line.claim(2)] == [job_id]

    [foreign] = line.run(reads.jobs(line.name, JobState.DEAD)).items
    assert (foreign.type, foreign.reason) == ("unknown", "record_missing")


@pytest.mark.parametrize("state", ["running", "scheduled", "retrying"])
def test_a_foreign_member_of_a_timed_set_is_quarantined_when_its_time_comes(line: LiveQueue, state: str) -> None:
    line.raw.zadd(line.key(state), {"junk": 1})
    line.foreign = 1

    line.tick()

    assert line.field("junk", "state") == "dead"
    assert line.raw.zcard(line.key(state)) == 0


def test_a_foreign_member_of_an_ended_set_goes_with_its_age(line: LiveQueue) -> None:
    line.add()
    for state in ("completed", "cancelled", "dead"):
        line.raw.zadd(line.key(state), {"junk": 1})
    line.foreign = 3

    assert line.tick().trimmed == 3


def test_a_second_entry_with_another_sequence_is_dropped_and_the_job_runs_once(line: LiveQueue) -> None:
    job_id = line.add()
    line.raw.zadd(line.key("ready"), {f"{0:016d}{job_id}": -5, f"{99:016d}{job_id}": 5})

    claimed = line.claim(5)

    assert [job.id for job in claimed] == [job_id]
    assert line.ready() == []
    assert (line.count("dropped"), line.count("quarantined")) == (2, 0)


@pytest.mark.parametrize("state", ["running", "scheduled", "retrying"])
def test_a_second_place_in_a_timed_set_is_dropped_when_its_time_comes(line: LiveQueue, state: str) -> None:
    job_id = line.add()
    line.raw.zadd(line.key(state), {job_id: 1})

    line.tick()

    assert line.state(job_id) is JobState.READY
    assert line.ready() == [job_id]
    assert line.count("dropped") == 1


@pytest.mark.parametrize("state", ["completed", "cancelled", "dead"])
def test_a_second_place_in_an_ended_set_is_dropped_and_the_job_lives(line: LiveQueue, state: str) -> None:
    job_id = line.add(payload=b"alive")
    line.raw.zadd(line.key(state), {job_id: 1})

    assert line.tick().trimmed == 0

    assert line.count("dropped") == 1
    assert line.claim_one().payload == b"alive"


def test_a_purge_drops_a_second_entry_and_leaves_the_job(line: LiveQueue) -> None:
    line.add()
    info = line.run(reads.queue(line.name))
    later = line.add()
    line.raw.zadd(line.key("ready"), {f"{0:016d}{later}": 5})

    removed = line.run(operations.purge(line.name, sequence=info.sequence, as_of_ms=info.as_of_ms)).removed

    assert removed == 1
    assert line.ready() == [later]
    assert line.count("dropped") == 1
