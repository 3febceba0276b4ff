"""What type checkers know of the clients. mypy proves the annotations here; running it proves that they are true."""

from collections.abc import Awaitable
from typing import assert_type

from leaseforge import AsyncClient, Client
from leaseforge.answers import Answer
from leaseforge.enqueueing import Enqueued
from leaseforge.jobs import Job
from leaseforge.queues import QueueInfo
from leaseforge.requests import new_job
from tests.support.live_queue import LiveQueue


def test_a_sync_clients_answers_have_types(line: LiveQueue) -> None:
    with Client(line.url) as client:
        stored = client.enqueue("work", {"a": 1}, queue=line.name, priority=1, max_attempts=3, tags=("a",))
        assert_type(stored, Enqueued)
        assert_type(client.enqueue_many([new_job("work", queue=line.name)]), list[Enqueued])
        assert_type(client.job(stored.id), Job)
        assert_type(client.queue(line.name), QueueInfo)
        assert_type(client.queues(), list[QueueInfo])
        assert_type(client.pause(line.name), Answer)
        assert_type(client.delete(stored.id), Answer)


async def test_an_async_clients_answers_have_types_once_awaited(line: LiveQueue) -> None:
    async with AsyncClient(line.url) as client:
        waiting = client.enqueue("work", queue=line.name)
        assert_type(waiting, Awaitable[Enqueued])
        stored = await waiting
        assert_type(stored, Enqueued)
        assert_type(await client.job(stored.id), Job)
        assert_type(await client.queues(), list[QueueInfo])
        assert_type(await client.resume(line.name), Answer)


def test_a_checker_refuses_what_would_fail(line: LiveQueue) -> None:
    with Client(line.url) as client:
        _ = [
            lambda: client.enqueue(7),  # type: ignore[arg-type]  # a task's name is text
            lambda: client.enqueue("work", priority="high"),  # type: ignore[arg-type]
            lambda: client.enqueue("work", no_such_field=1),  # type: ignore[call-arg]
            lambda: client.retry("id"),  # type: ignore[call-arg]  # without an operation id it could not be repeated
            lambda: client.job(),  # type: ignore[call-arg]
        ]
