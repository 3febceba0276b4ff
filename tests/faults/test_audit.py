"""The audit itself: each kind of damage must be told, and a sound store must pass."""

from collections.abc import Callable
from typing import Any

import pytest
import redis

from leaseforge import exchanges, operations
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.requests import new_job
from leaseforge.store import SyncStore
from tests.faults.audit import audit, violations
from tests.faults.ledger import Ledger, Line
from tests.faults.produced import Produced
from tests.support.waiting import eventually_sync

Plant = Callable[[Any], object]

READY, DONE, RETRIED, GONE = (f"00000000-0000-4000-8000-00000000000{number}" for number in range(4))
PREFIX = "lf:{line}:"


class Scene:
    """A queue with a ready job, a completed and a failed one, and a fitting ledger."""

    def __init__(self, store: SyncStore, ledger: Ledger) -> None:
        jobs = [new_job("work", id=id, queue="line", priority=n) for n, id in enumerate((READY, DONE, RETRIED))]
        store.run(operations.enqueue_many(jobs))
        claimed = store.run(exchanges.exchange("line", run_id="w1", number=1, lease_ms=60_000, want=2)).claimed
        self.fences = {job.id: job.fence for job in claimed}
        tokens = {job.id: job.token for job in claimed}
        settlements = [
            Settlement(DONE, tokens[DONE], Outcome.COMPLETE),
            Settlement(RETRIED, tokens[RETRIED], Outcome.FAIL, job_type="work", max_attempts=5, delay_ms=600_000),
        ]
        store.run(exchanges.exchange("line", run_id="w1", number=2, lease_ms=60_000, want=0, settlements=settlements))
        ledger.write(
            *(
                Line(job.id, "line", job.fence, 1, 1, what)
                for job in claimed
                for what in ("start", "effect", "end")
                if job.id == DONE or what == "start"
            )
        )


@pytest.fixture
def scene(sync_store: SyncStore, ledger: Ledger) -> Scene:
    return Scene(sync_store, ledger)


@pytest.fixture
def produced(scene: Scene) -> Produced:
    return Produced(acknowledged={READY, DONE, RETRIED}, refused={GONE})


def found(url: str, *evidence: Any, **expected: Any) -> list[str]:
    with redis.Redis.from_url(url) as client:
        return violations(client, *evidence, **expected)[0]


def test_a_sound_store_passes(scene: Scene, ledger: Ledger, produced: Produced, redis_url: str) -> None:
    seen = audit(redis_url, ledger, produced, ended=False, lease_ms=1000)

    assert seen["line"].places_by_id() == {READY: ["ready"], DONE: ["completed"], RETRIED: ["retrying"]}


def test_what_has_not_ended_is_told_where_all_should_have(scene: Scene, redis_url: str) -> None:
    with pytest.raises(AssertionError, match="I6 line: 1 jobs are still ready"):
        audit(redis_url)


@pytest.mark.parametrize(
    ("plant", "told"),
    [
        (lambda r: r.hset(f"{PREFIX}job:{GONE}", "state", "ready"), f"{GONE} is 'ready' and stands in []"),
        (lambda r: r.zadd(f"{PREFIX}scheduled", {GONE: 1}), f"scheduled holds '{GONE}', which has no record"),
        (lambda r: r.set(f"{PREFIX}job:{GONE}:in", "{}"), f"job:{GONE}:in belongs to no record"),
        (lambda r: r.zadd(f"{PREFIX}completed", {RETRIED: 1}), f"{RETRIED} is 'retrying' and stands in"),
        (lambda r: r.hset(f"{PREFIX}job:{DONE}", "state", "dead"), f"{DONE} is 'dead' and stands in ['completed']"),
        (lambda r: r.hincrby(f"{PREFIX}counts", "enqueued", 1), "enqueued 4 (+0 foreign), held 3"),
        (lambda r: r.hset(f"{PREFIX}counts", "failed", -1), "counter failed is -1"),
        (lambda r: r.set("somebody", "else"), "I3 key somebody is none of ours"),
        (lambda r: r.set(f"{PREFIX}secret", "else"), f"I3 key {PREFIX}secret is unknown"),
        (lambda r: r.set("lf:{sys}:secret", "else"), "I3 key lf:{sys}:secret is unknown"),
        (lambda r: r.persist(f"{PREFIX}claim:w1"), f"I3 key {PREFIX}claim:w1 would stay for ever"),
        (lambda r: r.zrem("lf:{sys}:queues", "line"), "I3 queue line has keys and is not listed"),
        (
            lambda r: r.hset(f"{PREFIX}job:{RETRIED}", mapping={"options": '{"m":1}', "failures": 2}),
            f"I4 line: {RETRIED} failed 2 times, allowed are 1",
        ),
        (lambda r: r.hset(f"{PREFIX}job:{RETRIED}", "recoveries", 9), f"I4 line: {RETRIED} was recovered 9 times"),
        (lambda r: r.hset(f"{PREFIX}job:{RETRIED}", "failures", 2), f"I4 line: {RETRIED} has 2 failures, told are"),
        (lambda r: r.hset(f"{PREFIX}job:{DONE}", "attempts", 2), f"I4 line: {DONE} is completed with 2 attempts"),
        (
            lambda r: r.hset(f"{PREFIX}job:{DONE}", "scheduled_at", 2**52),
            f"I7 line: {DONE} started",
        ),
        (
            lambda r: r.rpush(f"{PREFIX}job:{RETRIED}:history", r.lindex(f"{PREFIX}job:{RETRIED}:history", 0)),
            "has 2 outcomes",
        ),
    ],
)
def test_damage_in_the_store_is_told(
    scene: Scene, ledger: Ledger, produced: Produced, redis_url: str, plant: Plant, told: str
) -> None:
    with redis.Redis.from_url(redis_url) as client:
        plant(client)

    problems = found(redis_url, ledger, produced)

    assert any(told in problem for problem in problems), problems


def test_a_lost_acknowledged_job_and_a_kept_refused_one_are_told(scene: Scene, ledger: Ledger, redis_url: str) -> None:
    told = found(redis_url, ledger, Produced(acknowledged={GONE}, refused={READY}))

    assert told == [f"I1 {GONE} was acknowledged and is gone", f"I1 {READY} was refused and is there"]
    assert found(redis_url, ledger, Produced(acknowledged={GONE}), gone=1) == []


def test_an_effect_of_a_lower_claim_after_one_of_a_higher_is_told(scene: Scene, ledger: Ledger, redis_url: str) -> None:
    fence = scene.fences[DONE]
    ledger.write(Line(DONE, "line", fence - 1, 1, 2, "effect"))

    assert found(redis_url, ledger) == [f"I2 {DONE}: effect of claim {fence - 1} after one of claim {fence}"]


def test_a_completion_by_other_than_the_highest_claim_is_told(scene: Scene, ledger: Ledger, redis_url: str) -> None:
    fence = scene.fences[DONE]
    ledger.write(Line(DONE, "line", fence + 5, 2, 2, "start"))

    assert found(redis_url, ledger) == [
        f"I2 line: {DONE} was completed by claim {fence} although claim {fence + 5} ran"
    ]


def test_a_completion_that_never_came_to_its_end_is_told(scene: Scene, ledger: Ledger, redis_url: str) -> None:
    ledger.file.write_text("")
    ledger.write(Line(DONE, "line", scene.fences[DONE], 1, 2, "start"))

    assert [problem[-27:] for problem in found(redis_url, ledger)] == ["which never came to its end"]


def test_a_claim_that_was_started_twice_is_told(scene: Scene, ledger: Ledger, redis_url: str) -> None:
    ledger.write(Line(RETRIED, "line", scene.fences[RETRIED], 1, 2, "start"))

    assert [problem[-15:] for problem in found(redis_url, ledger)] == ["started 2 times"]


def test_a_lease_taken_too_early_is_told(sync_store: SyncStore, redis_url: str) -> None:
    sync_store.run(operations.enqueue(new_job("work", id=READY, queue="line")))
    sync_store.run(exchanges.exchange("line", run_id="w1", number=1, lease_ms=1, want=1))

    def recovered() -> bool:
        return sync_store.run(exchanges.tick("line")).recovered == 1

    eventually_sync(recovered)
    [told] = found(redis_url, lease_ms=60_000)

    assert told.startswith(f"I8 line: {READY} was taken back")
