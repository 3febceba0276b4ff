"""purge_dead: the dead letters of a moment go, what died later stays."""

import pytest

from leaseforge import limits, operations, reads
from leaseforge.errors import BadInput, QueueNotFound
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.support.live_queue import LiveQueue

UNTIL_NOW = 2**50


def kill(line: LiveQueue, count: int, *, age_ms: int = 5000) -> list[str]:
    """Dead jobs."""
    ids = line.add_many(count)
    for claimed in line.claim(count):
        line.settle(claimed, Outcome.FAIL, error_kind="E", error_message="no", max_attempts=1)
    line.age("dead", ids, age_ms)
    return ids


def purge(line: LiveQueue, before_ms: int = UNTIL_NOW) -> int:
    return line.run(operations.purge_dead(line.name, before_ms=before_ms)).removed


def test_dead_jobs_go_with_all_their_traces_and_nothing_else_does(line: LiveQueue) -> None:
    kill(line, 3)
    line.add(unique_key="k")
    line.settle(line.claim_one(), Outcome.FAIL, permanent="told_so")
    completed = line.add()
    line.settle(line.claim_one(), Outcome.COMPLETE)
    ready = line.add()

    assert purge(line) == 4

    assert line.snapshot().sets["dead"] == {}
    assert line.run(reads.groups(line.name)).items == ()
    assert line.count("purged") == 4
    assert (line.state(completed), line.state(ready)) == (JobState.COMPLETED, JobState.READY)
    assert {key for key in line.raw.keys(line.key("job:*")) if b":history" in key} == set()
    assert purge(line) == 0


def test_what_died_after_the_moment_stays(line: LiveQueue) -> None:
    old, again = kill(line, 2, age_ms=5000)
    moment = line.now_ms() - 1000
    line.run(operations.retry(again, operation="op"))
    line.settle(line.claim_one(), Outcome.FAIL, error_kind="E", error_message="no", max_attempts=1)
    later = kill(line, 1, age_ms=0)

    assert purge(line, moment) == 1

    assert set(line.snapshot().sets["dead"]) == {again, *later}
    assert not line.raw.exists(line.record_key(old))
    assert [group.size for group in line.run(reads.groups(line.name)).items] == [2]


def test_the_very_millisecond_of_the_moment_is_not_before_it(line: LiveQueue) -> None:
    [job_id] = kill(line, 1)
    at_ms = int(line.raw.zscore(line.key("dead"), job_id))

    assert purge(line, at_ms) == 0
    assert purge(line, at_ms + 1) == 1


def test_many_go_chunk_by_chunk(line: LiveQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    kill(line, 21)
    monkeypatch.setattr(limits, "CHUNK", 7)

    assert purge(line) == 21


def test_a_missing_record_goes_and_a_live_job_among_the_dead_is_left_alone(line: LiveQueue) -> None:
    [broken] = kill(line, 1)
    alive = line.add()
    line.raw.delete(line.record_key(broken))
    line.raw.zrem(line.key(f"dead:group:{line.run(reads.groups(line.name)).items[0].key}"), broken)
    line.raw.delete(line.key("dead:groups"))
    line.raw.zadd(line.key("dead"), {alive: 5})

    assert purge(line) == 1

    assert line.state(alive) is JobState.READY
    assert line.count("dropped") == 1


def test_unknown_queues_are_told(line: LiveQueue) -> None:
    with pytest.raises(QueueNotFound):
        purge(line)
    with pytest.raises(BadInput):
        line.run(operations.purge_dead("no where", before_ms=1))
