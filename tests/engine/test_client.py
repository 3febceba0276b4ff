"""The producer's API: a program with an event loop and one without hear the same answers."""

import inspect
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio.to_thread
import pytest

import leaseforge
from leaseforge import Answer, AsyncClient, Client, JobState, store
from leaseforge.errors import (
    BadInput,
    IdempotencyConflict,
    InvalidTransition,
    JobNotFound,
    PayloadTooLarge,
    QueueNotFound,
    StoreUnavailable,
)
from leaseforge.requests import new_job
from tests.support import free_port
from tests.support.live_queue import LiveQueue


class Either:
    """A client of either kind; every method is awaited."""

    def __init__(self, client: Client | AsyncClient) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Any:
        async def method(*args: Any, **kwargs: Any) -> Any:
            call = getattr(self.client, name)
            if isinstance(self.client, Client):
                return await anyio.to_thread.run_sync(lambda: call(*args, **kwargs))
            answer = call(*args, **kwargs)
            assert inspect.isawaitable(answer)
            return await answer

        return method


@pytest.fixture(params=["sync", "async"])
async def client(request: pytest.FixtureRequest, line: LiveQueue) -> AsyncIterator[Any]:
    if request.param == "sync":
        with Client(line.url) as sync_client:
            yield Either(sync_client)
    else:
        async with AsyncClient(line.url) as async_client:
            yield Either(async_client)


async def test_a_job_from_enqueue_to_delete(client: Any, line: LiveQueue) -> None:
    stored = await client.enqueue("send_email", {"to": "ada@example.com"}, queue=line.name, priority=3)

    assert (stored.queue, stored.answer) == (line.name, Answer.CREATED)
    job = await client.job(stored.id)
    assert (job.type, job.payload, job.priority) == ("send_email", b'{"to":"ada@example.com"}', 3)
    assert (await client.enqueue("send_email", id=stored.id, queue=line.name)).answer is Answer.DUPLICATE
    line.kill(stored.id)
    assert await client.retry(stored.id, operation="op") is Answer.OK
    assert (await client.job(stored.id)).state is JobState.READY
    assert await client.delete(stored.id) is Answer.OK
    with pytest.raises(JobNotFound):
        await client.job(stored.id)


async def test_queues(client: Any, line: LiveQueue) -> None:
    jobs = [new_job("work", queue=queue) for queue in ("line", "mail", "line")]

    assert [one.id for one in await client.enqueue_many(jobs)] == [job.id for job in jobs]

    assert [info.name for info in await client.queues()] == ["line", "mail"]
    assert (await client.queue("line")).counts[JobState.READY] == 2
    assert await client.pause("line") is Answer.OK
    assert (await client.queue("line")).paused
    assert await client.resume("line") is Answer.OK


async def test_the_same_refusals(client: Any, line: LiveQueue) -> None:
    job_id = line.add(idempotency_key="k")

    attempts: list[tuple[Callable[[], Awaitable[Any]], type[Exception]]] = [
        (lambda: client.enqueue("work", priority=2**31), BadInput),
        (lambda: client.enqueue("work", queue="a b"), BadInput),
        (lambda: client.enqueue("work", bytes(2**20 + 1)), PayloadTooLarge),
        (lambda: client.enqueue("other", queue=line.name, idempotency_key="k"), IdempotencyConflict),
        (lambda: client.queue("nowhere"), QueueNotFound),
        (lambda: client.pause("nowhere"), QueueNotFound),
        (lambda: client.job(str(uuid.uuid4())), JobNotFound),
        (lambda: client.job("no id"), JobNotFound),
        (lambda: client.retry(job_id, operation="op"), InvalidTransition),
        (lambda: client.delete(str(uuid.uuid4())), JobNotFound),
    ]
    for attempt, error in attempts:
        with pytest.raises(error):
            await attempt()


async def test_the_same_word_when_nobody_answers() -> None:
    url = f"redis://127.0.0.1:{free_port()}/0"

    with Client(url, retry_s=0.05) as client, pytest.raises(StoreUnavailable):
        client.enqueue("work")
    async with AsyncClient(url, retry_s=0.05) as async_client:
        with pytest.raises(StoreUnavailable):
            await async_client.enqueue("work")


def test_both_clients_have_the_same_methods_and_each_says_what_it_does() -> None:
    shared = {"close", "aclose"}
    sync_methods = {name for name in dir(Client) if not name.startswith("_")} - shared
    async_methods = {name for name in dir(AsyncClient) if not name.startswith("_")} - shared

    assert sync_methods == async_methods
    assert all(getattr(Client, name).__doc__ for name in sync_methods)


def test_everything_promised_by_the_package_is_there() -> None:
    assert sorted(leaseforge.__all__) == list(leaseforge.__all__)
    assert all(hasattr(leaseforge, name) for name in leaseforge.__all__)
    assert set(leaseforge.__all__) <= set(dir(leaseforge))
    assert leaseforge._HOMES.keys() == set(leaseforge.__all__)
    assert store._HOMES.keys() == set(store.__all__)
    with pytest.raises(AttributeError, match="module 'leaseforge' has no attribute 'Nothing'"):
        _ = leaseforge.Nothing  # type: ignore[attr-defined]  # that is the point
