"""What holds for any jobs in any order, tried with random ones on a real server."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaseforge import limits, operations
from leaseforge.answers import Answer
from leaseforge.claimed import Claimed
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.texts import cut
from tests.support import OwnServer
from tests.support.live_queue import LiveQueue

few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
many = settings(max_examples=300, deadline=None)

priorities = st.one_of(
    st.integers(-2, 2),
    st.integers(limits.MIN_PRIORITY, limits.MAX_PRIORITY),
    st.sampled_from([limits.MIN_PRIORITY, limits.MAX_PRIORITY, limits.MAX_PRIORITY - 1, 0]),
)


LETTERS = "aZ0 .:{}\"'\\%\u00a0\u00e9\u0301\u05d0\u4e2d\uffff\U0001f600\U0010ffff"
"""One to four bytes each, quotes, braces, and what is written from right to left."""


@pytest.fixture(scope="module")
def lines(server: OwnServer) -> Iterator[Any]:
    """Makes a queue in an emptied database for each example, and audits it when the next one is asked for."""
    line = LiveQueue(server.clean_database())

    def fresh() -> LiveQueue:
        line.raw.flushdb()
        return line

    yield fresh
    line.close()


@few
@given(steps=st.lists(st.one_of(priorities, st.sampled_from(["claim", "release"])), min_size=1, max_size=40))
def test_claims_are_strictly_by_priority_and_fifo_inside_one(lines: Any, steps: list[int | str]) -> None:
    line: LiveQueue = lines()
    waiting: list[tuple[int, int, str]] = []  # in claim order: minus priority, place in line, id
    places: dict[str, tuple[int, int, str]] = {}
    running: list[Claimed] = []

    for place, step in enumerate(steps):
        if isinstance(step, int):
            job_id = line.add(priority=step)
            places[job_id] = (-step, place, job_id)
            waiting.append(places[job_id])
        elif step == "claim":
            expected = sorted(waiting)[:2]
            claimed = line.claim(2)
            assert [job.id for job in claimed] == [job_id for _, _, job_id in expected]
            waiting = [entry for entry in waiting if entry not in expected]
            running += claimed
        elif running:
            released = running.pop()
            line.settle(released, Outcome.RELEASE)
            waiting.append(places[released.id])  # back to its old place

    assert line.ready() == [job_id for _, _, job_id in sorted(waiting)]
    line.audit()


@few
@given(payloads=st.lists(st.binary(max_size=300), min_size=1, max_size=20), big=st.integers(0, 2**17))
def test_payloads_and_results_come_back_byte_for_byte(lines: Any, payloads: list[bytes], big: int) -> None:
    line: LiveQueue = lines()
    payloads.append(bytes(range(256)) * (big // 256))
    jobs = [new_job("work", payload, queue=line.name) for payload in payloads]
    line.run(operations.enqueue_many(jobs))

    claimed = line.claim(200)
    for job in claimed:
        line.settle(job, Outcome.COMPLETE, result=job.payload[::-1])

    assert [job.payload for job in claimed] == payloads
    assert [line.job(job.id).result or b"" for job in jobs] == [payload[::-1] for payload in payloads]
    line.audit()


@few
@given(
    type=st.text(LETTERS, min_size=1, max_size=30),
    key=st.text(LETTERS + "\u202e\u2028\x85", min_size=1, max_size=30),
    producer=st.text(LETTERS, min_size=1, max_size=30),
    tags=st.lists(st.text(LETTERS, min_size=1, max_size=15), max_size=5),
)
def test_text_of_any_script_comes_back_as_it_was(
    lines: Any, type: str, key: str, producer: str, tags: list[str]
) -> None:
    line: LiveQueue = lines()

    job_id = line.add(type, tags=tags, idempotency_key=key, created_by=producer)

    job, claimed = line.job(job_id), line.claim_one()
    assert (job.type, job.tags, job.created_by) == (type, tuple(tags), producer)
    assert (claimed.type, claimed.tags) == (type, tuple(tags))


@few
@given(steps=st.lists(st.sampled_from(["pause", "resume", "add", "claim", "tick"]), max_size=30))
def test_nothing_is_claimed_from_a_paused_queue(lines: Any, steps: list[str]) -> None:
    line: LiveQueue = lines()
    line.add()
    paused = False

    for step in steps:
        if step == "add":
            line.add()
        elif step == "tick":
            line.tick()
        elif step == "claim":
            answer = line.exchange(3)
            assert (answer.status is Answer.PAUSED) == paused
            assert not (paused and answer.claimed)
        else:
            line.run(operations.pause(line.name) if step == "pause" else operations.resume(line.name))
            paused = step == "pause"
    line.audit()


@few
@given(steps=st.lists(st.sampled_from(["claim", "release", "lose", "forget"]), min_size=3, max_size=25))
def test_tokens_of_a_queue_only_ever_grow(lines: Any, steps: list[str]) -> None:
    line: LiveQueue = lines()
    line.add_many(3)
    last = 0

    for step in steps:
        held = line.snapshot().sets["running"]
        if step == "forget":
            line.raw.hdel(line.key("meta"), "fence")
        elif step == "lose":
            line.expire(*held)
            line.tick(max_recoveries=1000, backoff_base_ms=0)
        claimed = line.claim(1, run_id=f"w{len(held)}")
        for job in claimed:
            assert job.fence > last
            last = job.fence
            if step == "release":
                line.settle(job, Outcome.RELEASE)


@few
@given(delays=st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_no_delayed_job_is_claimed_before_its_time_by_redis_clock(lines: Any, delays: list[int]) -> None:
    line: LiveQueue = lines()
    started_ms = line.now_ms()
    delay_of = {line.add(delay_ms=delay): delay for delay in delays}
    seen: dict[str, int] = {}

    while len(seen) < len(delays):
        for job in line.claim(5):
            seen[job.id] = line.now_ms()
            assert job.ready_at_ms >= job.created_at_ms + delay_of[job.id]

    assert all(at >= started_ms + delay_of[job_id] for job_id, at in seen.items())


@few
@given(data=st.data(), count=st.integers(2, 12))
def test_due_jobs_are_promoted_in_the_order_of_their_times(lines: Any, data: st.DataObject, count: int) -> None:
    line: LiveQueue = lines()
    dues = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    now = line.now_ms()
    due_of = {line.add(delay_ms=60_000): due for due in dues}
    for job_id, due in due_of.items():
        line.make_due(job_id, at_ms=now - 10 + due)

    for _ in range(count):
        line.tick(limit=data.draw(st.integers(1, 3)))

    assert line.ready() == sorted(due_of, key=lambda job_id: (due_of[job_id], job_id))
    line.audit()


@few
@given(limit=st.integers(0, 4), outcomes=st.lists(st.booleans(), max_size=8))
def test_a_job_is_dead_exactly_when_its_failures_reach_the_limit(lines: Any, limit: int, outcomes: list[bool]) -> None:
    line: LiveQueue = lines()
    job_id = line.add()
    failures = 0

    for fails in outcomes:
        if limit and failures == limit:
            assert line.state(job_id) is JobState.DEAD
            assert line.claim(1) == ()
        else:
            failures += fails
            line.settle(
                line.claim_one(), Outcome.FAIL if fails else Outcome.RELEASE, error_kind="Broken", max_attempts=limit
            )
            line.exchange(0)

    assert line.job(job_id).failures == failures
    line.audit()


@many
@given(text=st.text(LETTERS + "\ud800\x00", max_size=60), most=st.integers(0, 80), keep_end=st.booleans())
def test_a_cut_text_fits_is_valid_and_keeps_one_end(text: str, most: int, keep_end: bool) -> None:
    kept = cut(text, most, keep_end=keep_end)

    whole = text.encode("utf-8", "replace").decode()
    assert len(kept.encode()) <= most
    if len(whole.encode()) <= most:
        assert kept == whole
    else:
        rest = kept.removeprefix("…") if keep_end else kept.removesuffix("…")
        assert whole.endswith(rest) if keep_end else whole.startswith(rest)
