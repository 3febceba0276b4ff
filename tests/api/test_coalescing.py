"""Jobs that are handed in together go to Redis together, and each caller hears of its own."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Sequence
from types import NoneType
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.calls import Call
from leaseforge.errors import IdempotencyConflict, ScriptFault, StoreFull, StoreUnavailable
from leaseforge.jobs import JobState, NewJob
from leaseforge.keys import queue_key
from leaseforge.requests import new_job
from leaseforge.store import Store, connect
from leaseforge_api import coalescing as module
from leaseforge_api.coalescing import Accepted, Coalescing
from leaseforge_api.errors import TooBusy
from tests.api.conftest import Client
from tests.support import eventually, free_port


class WatchedStore(Store):
    """Remembers the enqueue calls it sends, and keeps them back while `gate` is not set."""

    def __init__(self, like: Store) -> None:
        super().__init__(like.address, retry_s=0.2)
        self.gate = asyncio.Event()
        self.gate.set()
        self.sent: list[tuple[str, int]] = []
        self.error: Exception | None = None
        self.error_once: Exception | None = None

    async def _call(self, call: Call[Any]) -> Any:
        if call.script.name == "enqueue":
            self.sent.append((call.keys[0][1], len(call.rest) // 6))
            await self.gate.wait()
            error, self.error_once = self.error_once or self.error, None
            if error is not None:
                raise error
        return await super()._call(call)


@pytest.fixture
async def watched(store: Store) -> AsyncIterator[WatchedStore]:
    async with WatchedStore(store) as made:
        yield made


@pytest.fixture
def is_alone() -> bool:
    """Whether each request is to think that the server answers no other."""
    return False


either_way = pytest.mark.parametrize("is_alone", [False, True], ids=["first in company", "first alone"])


@pytest.fixture
async def coalescing(watched: WatchedStore, is_alone: bool) -> AsyncIterator[Coalescing]:
    made = Coalescing(watched, is_alone=lambda: is_alone)
    async with made.running():
        yield made
        watched.gate.set()


def jobs(count: int, **fields: Any) -> list[NewJob]:
    return [new_job("echo", number, **fields) for number in range(count)]


async def outcomes(coalescing: Coalescing, asked: list[NewJob]) -> list[Accepted | BaseException]:
    return await asyncio.gather(*(coalescing.enqueue(job) for job in asked), return_exceptions=True)


def sizes(watched: WatchedStore) -> list[int]:
    return [size for _, size in watched.sent]


async def under_way(watched: WatchedStore, calls: int) -> None:
    await eventually(lambda: len(watched.sent) == calls)


async def handed_in(coalescing: Coalescing, asked: list[NewJob]) -> "list[asyncio.Task[Accepted]]":
    """Callers that wait for their answers."""
    tasks = [asyncio.create_task(coalescing.enqueue(job)) for job in asked]
    await asyncio.sleep(0)
    return tasks


@either_way
async def test_a_lone_job_is_answered_as_a_read_would_answer_it(coalescing: Coalescing, store: Store) -> None:
    kinds = [
        new_job("echo", {"a": 1}, priority=3, tags=["x"], max_attempts=2, backoff="fixed", timeout_ms=1500),
        new_job("echo", b"\xff", delay_ms=60_000, created_by="ada", unique_key="k"),
        new_job("echo", queue="mail", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ]

    for job in kinds:
        accepted = await coalescing.enqueue(job)

        assert (accepted.id, accepted.queue, accepted.is_new) == (job.id, job.queue, True)
        assert accepted.job == await store.run(reads.job(job.id))


@pytest.mark.parametrize("is_alone", [True])
async def test_a_job_alone_is_on_its_way_before_anything_else_runs_and_no_task_is_made_for_it(
    coalescing: Coalescing, watched: WatchedStore
) -> None:
    await coalescing.enqueue(new_job("echo"))  # the queue is known from here on
    watched.gate.clear()
    running = asyncio.all_tasks()

    [waiting] = await handed_in(coalescing, jobs(1))

    assert sizes(watched) == [1, 1]
    assert asyncio.all_tasks() == running | {waiting}
    watched.gate.set()
    assert (await waiting).is_new


@either_way
async def test_what_arrives_while_a_call_is_under_way_leaves_together_in_order(
    coalescing: Coalescing, watched: WatchedStore, store: Store
) -> None:
    watched.gate.clear()
    first, *rest = jobs(40)
    waiting = await handed_in(coalescing, [first])
    await under_way(watched, 1)
    waiting += await handed_in(coalescing, rest)
    watched.gate.set()

    await asyncio.gather(*waiting)

    assert sizes(watched) == [1, 39]
    page = await store.run(reads.jobs("default", JobState.READY, limit=100))
    assert [job.id for job in page.items] == [job.id for job in [first, *rest]]


async def test_each_queue_has_a_line_of_its_own(coalescing: Coalescing, watched: WatchedStore) -> None:
    accepted = await outcomes(coalescing, jobs(5, queue="mail") + jobs(7, queue="reports"))

    assert all(isinstance(one, Accepted) for one in accepted)
    assert sorted(sizes(watched)) == [5, 7]


async def test_a_call_carries_at_most_two_hundred_jobs(coalescing: Coalescing, watched: WatchedStore) -> None:
    await outcomes(coalescing, jobs(450))

    assert sizes(watched) == [200, 200, 50]


async def test_a_call_carries_at_most_four_mebibytes(coalescing: Coalescing, watched: WatchedStore) -> None:
    large = [new_job("echo", b"x" * 1024 * 1024) for _ in range(5)]

    await outcomes(coalescing, large)

    assert sizes(watched) == [4, 1]


async def test_a_refused_job_takes_no_other_along(coalescing: Coalescing, watched: WatchedStore, store: Store) -> None:
    await store.run(operations.enqueue(new_job("echo", "first", idempotency_key="k")))
    asked = [*jobs(3), new_job("echo", "other", idempotency_key="k"), *jobs(2)]

    results = await outcomes(coalescing, asked)

    assert sizes(watched) == [6]
    assert isinstance(results.pop(3), IdempotencyConflict)
    assert all(isinstance(one, Accepted) and one.is_new for one in results)


async def test_repeats_inside_one_call_are_answered_with_the_first_job(
    coalescing: Coalescing, watched: WatchedStore
) -> None:
    results = await outcomes(coalescing, [new_job("echo", 1, idempotency_key="k") for _ in range(4)])

    accepted = [one for one in results if isinstance(one, Accepted)]
    assert sizes(watched) == [4]
    assert [one.is_new for one in accepted] == [True, False, False, False]
    assert len({one.id for one in accepted}) == 1
    assert len({one.job.id for one in accepted if one.job is not None}) == 1


async def test_a_job_the_script_breaks_on_fails_alone(coalescing: Coalescing, redis_client: Any) -> None:
    spoilt = new_job("echo", 1, unique_key="k")
    asked = [*jobs(3), spoilt, *jobs(3)]
    first = new_job("echo", 1, unique_key="k")
    await coalescing.enqueue(first)
    for key in redis_client.scan_iter("*unique*"):
        redis_client.delete(key)
        redis_client.lpush(key, "foreign")

    results = await outcomes(coalescing, asked)

    assert isinstance(results.pop(3), ScriptFault)
    assert all(isinstance(one, Accepted) and one.is_new for one in results)


@pytest.mark.parametrize("error", [StoreFull("full"), StoreUnavailable("away"), ZeroDivisionError("a defect")])
async def test_what_fails_the_whole_call_reaches_all_and_the_next_call_is_not_affected(
    error: Exception, coalescing: Coalescing, watched: WatchedStore
) -> None:
    watched.error = error

    results = await outcomes(coalescing, jobs(5))

    assert results == [error] * 5
    watched.error = None
    assert (await coalescing.enqueue(new_job("echo"))).is_new


@either_way
async def test_what_failed_is_forgotten_with_all_that_was_sent_and_waits_for_no_collector(is_alone: bool) -> None:
    """Collections are rare in a server, and while Redis is away each failed call may hold megabytes."""
    async with connect(f"redis://127.0.0.1:{free_port()}", retry_s=0.05) as away:
        made = Coalescing(away, is_alone=lambda: is_alone)
        async with made.running():
            gc.collect()
            gc.disable()
            try:
                failed = [weakref.ref(error) for error in await outcomes(made, jobs(5))]
                await asyncio.sleep(0)
                assert [type(kept()) for kept in failed] == [NoneType] * 5
            finally:
                gc.enable()


@either_way
async def test_while_redis_is_away_nobody_waits_for_one_call_after_the_other(
    coalescing: Coalescing, watched: WatchedStore
) -> None:
    watched.gate.clear()
    watched.error = StoreUnavailable("away")
    waiting = await handed_in(coalescing, jobs(1))
    await under_way(watched, 1)
    waiting += await handed_in(coalescing, jobs(500))
    elsewhere = await handed_in(coalescing, jobs(1, queue="other"))
    await under_way(watched, 2)
    watched.gate.set()

    results = await asyncio.gather(*waiting, *elsewhere, return_exceptions=True)

    assert {type(one) for one in results} == {StoreUnavailable}
    assert sizes(watched) == [1, 1]
    watched.error = None
    assert (await coalescing.enqueue(new_job("echo"))).is_new


async def test_too_many_queues_is_told_to_all_of_the_queue(
    coalescing: Coalescing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaseforge.limits.MAX_QUEUES", 1)
    await coalescing.enqueue(new_job("echo"))

    results = await outcomes(coalescing, jobs(3, queue="one.more"))

    assert [type(one).__name__ for one in results] == ["TooManyQueues"] * 3


async def test_more_than_may_wait_is_refused_and_there_is_room_again_later(
    coalescing: Coalescing, watched: WatchedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 4)
    watched.gate.clear()
    waiting = await handed_in(coalescing, jobs(1))
    await under_way(watched, 1)
    waiting += await handed_in(coalescing, jobs(4))

    with pytest.raises(TooBusy):
        await coalescing.enqueue(new_job("echo", queue="other"))

    watched.gate.set()
    assert all(one.is_new for one in await asyncio.gather(*waiting))
    assert (await coalescing.enqueue(new_job("echo"))).is_new


async def test_more_bytes_than_may_wait_are_refused(
    coalescing: Coalescing, watched: WatchedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING_BYTES", 1000)

    with pytest.raises(TooBusy):
        await coalescing.enqueue(new_job("echo", b"x" * 1001))

    assert (await coalescing.enqueue(new_job("echo", b"x" * 1000))).is_new
    assert (await coalescing.enqueue(new_job("echo", b"x" * 1000))).is_new


async def test_who_leaves_while_waiting_is_not_stored_and_harms_nobody(
    coalescing: Coalescing, watched: WatchedStore, store: Store
) -> None:
    watched.gate.clear()
    on_its_way, impatient, patient = jobs(3)
    waiting = await handed_in(coalescing, [on_its_way])
    await under_way(watched, 1)
    waiting += await handed_in(coalescing, [impatient, patient])
    waiting[0].cancel()
    waiting[1].cancel()
    await asyncio.sleep(0)
    watched.gate.set()

    results = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(one) for one in results] == [asyncio.CancelledError, asyncio.CancelledError, Accepted]
    page = await store.run(reads.jobs("default", JobState.READY))
    assert [job.id for job in page.items] == [on_its_way.id, patient.id]


@pytest.mark.parametrize("is_alone", [True])
async def test_one_alone_that_leaves_or_fails_takes_nobody_along(
    coalescing: Coalescing, watched: WatchedStore, store: Store
) -> None:
    for error in (None, ScriptFault("spoilt"), ZeroDivisionError("a defect")):
        before = len(watched.sent)
        watched.gate.clear()
        [first] = await handed_in(coalescing, jobs(1))
        await under_way(watched, before + 1)
        waiting = await handed_in(coalescing, jobs(3))
        watched.error_once = error
        if error is None:
            first.cancel()
            await asyncio.wait([first])
        watched.gate.set()

        with pytest.raises(type(error) if error else asyncio.CancelledError):
            await first

        assert all(one.is_new for one in await asyncio.gather(*waiting))
    assert sizes(watched) == [1, 3] * 3
    assert (await store.run(reads.jobs("default", JobState.READY))).total == 9


@either_way
async def test_leaving_waits_for_all_that_were_taken_in_and_takes_in_no_more(
    watched: WatchedStore, is_alone: bool
) -> None:
    stopping = Coalescing(watched, is_alone=lambda: is_alone)
    watched.gate.clear()
    async with stopping.running():
        waiting = await handed_in(stopping, jobs(1))
        await under_way(watched, 1)
        waiting += await handed_in(stopping, jobs(300))
        asyncio.get_running_loop().call_later(0.05, watched.gate.set)

    assert all(one.result().is_new for one in waiting)
    with pytest.raises(TooBusy):
        await stopping.enqueue(new_job("echo"))


async def test_a_cancelled_server_lets_nobody_wait_for_ever(watched: WatchedStore) -> None:
    stopping = Coalescing(watched, is_alone=lambda: False)
    watched.gate.clear()
    waiting: list[asyncio.Task[Accepted]] = []

    async def run() -> None:
        async with stopping.running():
            waiting.extend(await handed_in(stopping, jobs(1)))
            await under_way(watched, 1)
            waiting.extend(await handed_in(stopping, jobs(300)))
            await asyncio.Event().wait()

    server = asyncio.create_task(run())
    await eventually(lambda: len(waiting) == 301)
    server.cancel()
    await asyncio.wait([server])

    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(one) for one in results} == {StoreUnavailable}


async def test_who_waits_behind_one_alone_is_told_when_the_server_is_cancelled(watched: WatchedStore) -> None:
    stopping = Coalescing(watched, is_alone=lambda: True)
    watched.gate.clear()
    server = asyncio.create_task(_until_cancelled(stopping))
    await asyncio.sleep(0)
    [alone] = await handed_in(stopping, jobs(1))
    await under_way(watched, 1)
    waiting = await handed_in(stopping, jobs(300))
    server.cancel()
    await asyncio.wait([server])

    results = await asyncio.gather(*waiting, return_exceptions=True)

    assert {type(one) for one in results} == {StoreUnavailable}
    watched.gate.set()
    assert (await alone).is_new


async def _until_cancelled(coalescing: Coalescing) -> None:
    async with coalescing.running():
        await asyncio.Event().wait()


async def test_many_requests_over_http_are_one_call_and_each_has_its_own_answer(
    client: Client, admin: dict[str, str], redis_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    together = Coalescing._store_together

    async def counted(self: Coalescing, queue: str, requests: Sequence[Any]) -> None:
        calls.append(len(requests))
        await together(self, queue, requests)

    monkeypatch.setattr(Coalescing, "_store_together", counted)

    def post(number: int) -> Any:
        body: dict[str, Any] = {"type": "echo", "payload": number}
        headers = admin | {"Idempotency-Key": "k"} if number in (5, 6) else admin
        return client.post("/api/jobs", json={"priority": "high"} if number == 9 else body, headers=headers)

    await post(0)
    answers = await asyncio.gather(*(post(number) for number in range(20)))

    statuses = [answer.status_code for answer in answers]
    # Whichever of the two with one key is first has it.
    assert sorted(statuses.pop(5) for _ in range(2)) == [201, 422]
    assert statuses == [201] * 7 + [400] + [201] * 10
    assert [answers[number].json()["payload"] for number in (0, 4, 19)] == [0, 4, 19]
    assert redis_client.zcard(queue_key("default", "ready")) == 19
    assert sum(calls) == 19  # but for the first, which was alone
    assert max(calls) > 1
