"""Scripts name the jobs they promote, take back and replay if those carry a trace: their answers say only how many."""

from typing import Any

import pytest

from leaseforge import operations, tracing
from leaseforge.exchanges import Outcome
from leaseforge.moves import Moved
from tests.support.bulk_steps import Runner
from tests.support.live_queue import LiveQueue

TRACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


def traced(line: LiveQueue, **fields: Any) -> str:
    return line.add(traceparent=TRACE, tracestate="vendor=1", **fields)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Moved]:
    """What operators' calls had to tell."""
    heard: list[Moved] = []
    monkeypatch.setattr(tracing, "tell_moves", lambda moves, since_ns: heard.extend(moves))
    return heard


def test_a_claim_brings_the_trace_along(line: LiveQueue) -> None:
    traced(line)

    claimed = line.claim_one()

    assert (claimed.traceparent, claimed.tracestate) == (TRACE, "vendor=1")


def test_a_promotion_says_from_where_by_tick_and_by_exchange(line: LiveQueue) -> None:
    first, second = traced(line, delay_ms=60_000), traced(line)
    line.settle(line.claim_one(), Outcome.FAIL, delay_ms=60_000)
    line.make_due(first)

    ticked = line.tick()
    line.make_due(second)
    exchanged = line.exchange(0)

    assert ticked.moves == (Moved("scheduled", first, TRACE, 0),)
    assert exchanged.moves == (Moved("retrying", second, TRACE, 1),)


def test_a_lost_lease_says_where_it_led(line: LiveQueue) -> None:
    job_id = traced(line)
    line.claim_one()
    line.expire(job_id)
    back = line.tick()
    line.claim_one()
    line.expire(job_id)
    poison = line.tick(max_recoveries=1)

    assert back.moves == (Moved("lost:ready", job_id, TRACE, 1),)
    assert poison.moves == (Moved("lost:dead", job_id, TRACE, 2),)


def test_a_job_that_cannot_be_read_says_why_it_is_dead(line: LiveQueue) -> None:
    job_id = traced(line)
    line.raw.hdel(line.record_key(job_id), "seq")

    assert line.exchange(1).moves == (Moved("dead:sequence_missing", job_id, TRACE, 0),)


def test_operators_calls_tell_what_they_moved_once(line: LiveQueue, told: list[Moved]) -> None:
    dead, done, waits = traced(line), traced(line), traced(line, delay_ms=60_000)
    line.settle(line.claim_one(), Outcome.FAIL, max_attempts=1)
    line.settle(line.claim_one(), Outcome.COMPLETE)
    for _ in range(2):
        line.run(operations.retry(dead, operation="one"))
        line.run(operations.requeue(done, operation="two"))
        line.run(operations.promote(waits, operation="three"))

    assert told == [
        Moved("replayed:dead", dead, TRACE, 1),
        Moved("replayed:completed", done, TRACE, 1),
        Moved("scheduled", waits, TRACE, 0),
    ]


def test_a_bulk_operation_tells_of_each_job(line: LiveQueue, told: list[Moved]) -> None:
    ids = [traced(line) for _ in range(3)]
    for _ in ids:
        line.settle(line.claim_one(), Outcome.FAIL, max_attempts=1)

    Runner(line).do("retry", queue=line.name)

    assert sorted(told) == sorted(Moved("replayed:dead", job_id, TRACE, 1) for job_id in ids)


def test_jobs_without_a_trace_are_not_named(line: LiveQueue, told: list[Moved]) -> None:
    late, dead = line.add(delay_ms=60_000), line.add()
    line.settle(line.claim_one(), Outcome.FAIL, max_attempts=1)
    line.make_due(late)

    assert line.tick().moves == ()
    line.run(operations.retry(dead, operation="one"))
    assert told == []
