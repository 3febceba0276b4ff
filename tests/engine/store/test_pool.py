"""Many callers on few connections: each hears its own answer, whoever gives up in between."""

import asyncio
import random
import threading
from typing import Any

import pytest

from leaseforge import limits, operations, reads
from leaseforge.requests import new_job
from leaseforge.store import connect, connect_sync
from tests.support import eventually
from tests.support.live_queue import LiveQueue


def numbered(line: LiveQueue, count: int) -> list[str]:
    """Jobs whose type says which one each is."""
    jobs = [new_job(f"type-{number}", queue=line.name) for number in range(count)]
    return [stored.id for stored in line.run(operations.enqueue_many(jobs))]


async def test_cancelled_callers_leave_no_answer_behind_for_others(line: LiveQueue) -> None:
    ids = numbered(line, 50)
    store = connect(line.url, connections=2)
    wrong: list[str] = []

    async def look_up(number: int) -> None:
        job = await store.run(reads.job_call(line.name, ids[number]))
        if job is None or job.type != f"type-{number}":
            wrong.append(f"asked for {number}, heard {job and job.type}")

    chance = random.Random(7)
    for _ in range(6):
        tasks = [asyncio.create_task(look_up(number)) for number in range(50)]
        for task in chance.sample(tasks, 25):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    await asyncio.gather(*(look_up(number) for number in range(50)))
    assert wrong == []
    await store.aclose()


async def test_callers_beyond_the_connections_wait_their_turn(line: LiveQueue) -> None:
    numbered(line, 1)
    store = connect(line.url, connections=2)

    infos = await asyncio.gather(*(store.run(reads.queue(line.name)) for _ in range(40)))

    assert {info.name for info in infos} == {line.name}
    clients = [client for client in line.raw.client_list() if client["db"] == line.url.rpartition("/")[2]]
    assert len(clients) <= 2 + 2  # and the two of `line` itself
    await store.aclose()


async def test_signs_of_life_wait_their_turn_too(line: LiveQueue) -> None:
    numbered(line, 1)
    store = connect(line.url, connections=2)
    await asyncio.gather(*(store.run(reads.queue(line.name)) for _ in range(4)))  # connections that are kept

    await asyncio.gather(*(store.ping() for _ in range(20)), *(store.info() for _ in range(5)), store.check())

    await store.aclose()


async def test_more_callers_than_connections_are_kept_and_all_connections_end_with_the_store(line: LiveQueue) -> None:
    ids = numbered(line, 40)
    before = connections(line)
    store = connect(line.url)

    for _ in range(3):
        found = await asyncio.gather(*(store.run(reads.job_call(line.name, job_id)) for job_id in ids))
        assert [job and job.id for job in found] == ids

    await store.aclose()
    await eventually(lambda: connections(line) == before)


async def test_a_connection_the_server_has_closed_is_opened_anew_without_a_failure(line: LiveQueue) -> None:
    [job_id] = numbered(line, 1)
    before = connections(line)
    store = connect(line.url, retry_s=0.0)
    await asyncio.gather(*(store.run(reads.job_call(line.name, job_id)) for _ in range(4)))

    for client in connections(line) - before:
        line.raw.client_kill_filter(_id=client)
    await eventually(lambda: connections(line) == before)
    for _ in range(3):
        await asyncio.sleep(0)  # the loop hears of it

    found = await store.run(reads.job_call(line.name, job_id))
    assert found is not None
    assert found.id == job_id
    await store.aclose()


def connections(line: LiveQueue) -> set[str]:
    """Ids of the server's connections to the test's database."""
    return {client["id"] for client in line.raw.client_list() if client["db"] == line.url.rpartition("/")[2]}


def test_threads_share_a_store(line: LiveQueue) -> None:
    ids = numbered(line, 40)
    heard: dict[int, str] = {}
    with connect_sync(line.url) as store:

        def look_up(number: int) -> None:
            heard[number] = store.run(reads.job(ids[number])).type

        threads = [threading.Thread(target=look_up, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert heard == {number: f"type-{number}" for number in range(40)}


@pytest.mark.parametrize(
    ("sizes", "chunks"),
    [
        ([1] * 10, [10]),
        ([1] * (limits.MAX_BULK + 1), [limits.MAX_BULK, 1]),
        ([limits.MAX_PAYLOAD_BYTES] * 17, [16, 1]),
        ([1, limits.MAX_PAYLOAD_BYTES, 1], [3]),
    ],
    ids=["few", "many", "large", "mixed"],
)
def test_a_bulk_travels_in_calls_of_bounded_count_and_bytes(sizes: list[int], chunks: list[int]) -> None:
    bodies = {size: bytes(size) for size in set(sizes)}
    plan = operations.enqueue_many([new_job("work", bodies[size]) for size in sizes])
    sent: list[int] = []

    step: Any = next(plan)
    with pytest.raises(StopIteration) as ended:  # noqa: PT012  # a plan says by this that it is through
        while True:
            count = len(step.rest) // 6
            if count:
                sent.append(count)
            step = plan.send(step.read([0, *([b"created", b"id"] * count), 1_700_000_000_000] if count else b"ok"))

    assert sent == chunks
    assert len(ended.value.value) == len(sizes)
