"""Unique keys: one live job holds one, and it is free the moment that job has ended, however it did."""

from collections.abc import Callable

import pytest

from leaseforge import operations
from leaseforge.answers import Answer
from leaseforge.enqueueing import Enqueued
from leaseforge.errors import UniqueKeyTaken
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from tests.support.live_queue import LiveQueue
from tests.support.references import audit_all

KEY = "invoice-7"


def request(line: LiveQueue) -> Enqueued:
    return line.run(operations.enqueue(new_job("work", queue=line.name, unique_key=KEY)))


def completes(line: LiveQueue, job_id: str) -> None:
    line.settle(line.claim_one(), Outcome.COMPLETE)


def dies(line: LiveQueue, job_id: str) -> None:
    line.kill(job_id)


def is_cancelled(line: LiveQueue, job_id: str) -> None:
    line.run(operations.cancel(job_id, operation="op"))


def stops_as_asked(line: LiveQueue, job_id: str) -> None:
    claimed = line.claim_one()
    line.run(operations.cancel(job_id, operation="op"))
    line.settle(claimed, Outcome.CANCELLED)


def is_deleted(line: LiveQueue, job_id: str) -> None:
    line.run(operations.delete(job_id))


def is_purged(line: LiveQueue, job_id: str) -> None:
    line.run(operations.purge(line.name, sequence=1, as_of_ms=line.now_ms()))


def is_poison(line: LiveQueue, job_id: str) -> None:
    line.claim_one()
    line.expire(job_id)
    line.tick(max_recoveries=0)


def loses_its_payload(line: LiveQueue, job_id: str) -> None:
    line.raw.delete(line.record_key(job_id, ":in"))
    line.claim(1)


ENDS = (completes, dies, is_cancelled, stops_as_asked, is_deleted, is_purged, is_poison, loses_its_payload)


@pytest.mark.parametrize("end", ENDS)
def test_the_key_is_free_once_its_job_has_ended(line: LiveQueue, end: Callable[[LiveQueue, str], None]) -> None:
    first = request(line)

    end(line, first.id)

    assert not line.raw.exists(line.key(f"unique:{KEY}"))
    audit_all(line.raw, line.name)
    assert request(line).answer is Answer.CREATED


def scheduled(line: LiveQueue) -> str:
    return line.add(unique_key=KEY, delay_ms=60_000)


def ready(line: LiveQueue) -> str:
    return line.add(unique_key=KEY)


def running(line: LiveQueue) -> str:
    ready(line)
    return line.claim_one().id


def retrying(line: LiveQueue) -> str:
    job_id = ready(line)
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="E", delay_ms=60_000)
    return job_id


def released(line: LiveQueue) -> str:
    job_id = ready(line)
    line.settle(line.claim_one(), Outcome.RELEASE)
    return job_id


def recovered(line: LiveQueue) -> str:
    job_id = running(line)
    line.expire(job_id)
    line.tick()
    return job_id


@pytest.mark.parametrize("live", [scheduled, ready, running, retrying, released, recovered])
def test_a_live_job_keeps_others_with_its_key_out(line: LiveQueue, live: Callable[[LiveQueue], str]) -> None:
    job_id = live(line)

    with line.unchanged():
        again = request(line)

    assert (again.answer, again.id) == (Answer.DUPLICATE, job_id)


def test_one_bulk_stores_one_of_two_with_the_same_key(line: LiveQueue) -> None:
    jobs = [new_job("work", queue=line.name, unique_key=KEY) for _ in range(2)]

    first, second = line.run(operations.enqueue_many(jobs))

    assert (first.answer, second.answer, second.id) == (Answer.CREATED, Answer.DUPLICATE, first.id)


def test_the_key_lasts_its_time_and_no_longer(line: LiveQueue) -> None:
    line.add(unique_key=KEY, unique_ttl_ms=5000)

    assert 0 < line.raw.pttl(line.key(f"unique:{KEY}")) <= 5000


def test_a_replay_takes_its_key_again_or_is_refused(line: LiveQueue) -> None:
    job_id = request(line).id
    line.kill(job_id)
    holder = request(line).id

    with line.unchanged(), pytest.raises(UniqueKeyTaken) as refusal:
        line.run(operations.retry(job_id, operation="op-1"))
    assert refusal.value.holder == holder
    line.kill(holder)
    assert line.run(operations.retry(job_id, operation="op-2")) is Answer.OK

    assert line.raw.get(line.key(f"unique:{KEY}")).decode() == job_id
    assert line.state(job_id) is JobState.READY
    audit_all(line.raw, line.name)


def test_a_key_whose_holder_vanished_does_not_block(line: LiveQueue) -> None:
    line.raw.set(line.key(f"unique:{KEY}"), "00000000-0000-4000-8000-000000000000")

    assert request(line).answer is Answer.CREATED


def test_an_ended_job_leaves_the_key_to_the_one_that_took_it_when_its_time_was_over(line: LiveQueue) -> None:
    first = request(line)
    claimed = line.claim_one()
    line.raw.delete(line.key(f"unique:{KEY}"))
    successor = request(line)

    line.settle(claimed, Outcome.COMPLETE)

    assert (first.answer, successor.answer) == (Answer.CREATED, Answer.CREATED)
    assert line.raw.get(line.key(f"unique:{KEY}")).decode() == successor.id


@pytest.mark.parametrize("damage", [None, "soon", "-5", "1e300"])
def test_a_replay_whose_record_lost_the_key_s_time_takes_it_for_a_day(line: LiveQueue, damage: str | None) -> None:
    """A number that is none must not stop a replay half-way, with the job out of the dead letters and nowhere else."""
    job_id = request(line).id
    line.kill(job_id)
    if damage is None:
        line.raw.hdel(line.record_key(job_id), "unique_ttl")
    else:
        line.raw.hset(line.record_key(job_id), "unique_ttl", damage)

    assert line.run(operations.retry(job_id, operation="op")) is Answer.OK

    assert line.ready() == [job_id]
    assert 0 < line.raw.pttl(line.key(f"unique:{KEY}")) <= 86_400_000
