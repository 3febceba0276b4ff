"""Producers: one by one, many callers at once, and in bulk; beside each the same script with its words made before."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import redis.asyncio

from bench.filling import PAYLOAD, count_stored
from bench.measuring import Figures, Meter
from bench.server import QUEUE, Bench
from bench.workload import Workload
from leaseforge import AsyncClient, Client, new_job
from leaseforge.enqueueing import enqueue, register_queue
from leaseforge.limits import MAX_BULK
from leaseforge.scripts import ENGINE

CALLERS = 64


@dataclass(frozen=True, slots=True)
class EnqueueSingly:
    """`Client.enqueue` in a loop."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Enqueues so many."""
        with Client(bench.url) as client:
            client.enqueue("nothing", PAYLOAD, queue=QUEUE)
            meter = Meter(bench)
            for _ in range(jobs):
                client.enqueue("nothing", PAYLOAD, queue=QUEUE)
            figures = meter.stop(jobs)
        count_stored(bench, jobs + 1)
        return figures


@dataclass(frozen=True, slots=True)
class ScriptSingly:
    """EVALSHA in a loop."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Enqueues so many."""
        sha = _loaded(bench)
        commands = list(_commands(jobs, 1))
        meter = Meter(bench)
        for words in commands:
            bench.raw.evalsha(sha, *words)
        figures = meter.stop(jobs)
        count_stored(bench, jobs)
        return figures


@dataclass(frozen=True, slots=True)
class EnqueueTogether:
    """Several callers of one `AsyncClient`."""

    callers: int = CALLERS

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Enqueues so many."""
        figures = asyncio.run(self._measure(bench, jobs))
        count_stored(bench, jobs + self.callers)
        return figures

    async def _measure(self, bench: Bench, jobs: int) -> Figures:
        async with AsyncClient(bench.url) as client:

            async def enqueue_one(_: int) -> None:
                await client.enqueue("nothing", PAYLOAD, queue=QUEUE)

            await from_callers(enqueue_one, iter(range(self.callers)), callers=self.callers)
            meter = Meter(bench)
            await from_callers(enqueue_one, iter(range(jobs)), callers=self.callers)
            return meter.stop(jobs)


@dataclass(frozen=True, slots=True)
class ScriptTogether:
    """64 callers of redis-py's asyncio client, each on a connection of its own."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Enqueues so many."""
        figures = asyncio.run(self._measure(bench, jobs))
        count_stored(bench, jobs + CALLERS)
        return figures

    async def _measure(self, bench: Bench, jobs: int) -> Figures:
        sha = _loaded(bench)
        commands = _commands(jobs + CALLERS, 1)
        first, rest = list(islice(commands, CALLERS)), list(commands)
        async with redis.asyncio.Redis.from_url(bench.url) as client:

            async def send(words: list[Any]) -> None:
                await client.evalsha(sha, *words)

            await from_callers(send, iter(first))
            meter = Meter(bench)
            await from_callers(send, iter(rest))
            return meter.stop(jobs)


@dataclass(frozen=True, slots=True)
class EnqueueInBulk:
    """`Client.enqueue_many`, a thousand jobs a call, building them included."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Enqueues so many."""
        with Client(bench.url) as client:
            client.enqueue("nothing", PAYLOAD, queue=QUEUE)
            meter = Meter(bench)
            for start in range(0, jobs, MAX_BULK):
                size = min(MAX_BULK, jobs - start)
                client.enqueue_many([new_job("nothing", PAYLOAD, queue=QUEUE) for _ in range(size)])
            figures = meter.stop(jobs)
        count_stored(bench, jobs + 1)
        return figures


@dataclass(frozen=True, slots=True)
class ScriptInBulk:
    """EVALSHA with a thousand jobs."""

    def __call__(self, bench: Bench, jobs: int) -> Figures:
        """Enqueues so many."""
        sha = _loaded(bench)
        commands = list(_commands(jobs, MAX_BULK))
        meter = Meter(bench)
        for words in commands:
            bench.raw.evalsha(sha, *words)
        figures = meter.stop(jobs)
        count_stored(bench, jobs)
        return figures


def _loaded(bench: Bench) -> str:
    """The script's SHA, known to the server; the queue is known too."""
    with Client(bench.url) as client:
        client.run(register_queue(QUEUE))
    script = ENGINE.load("enqueue")
    bench.raw.script_load(script.text)
    return script.sha


def _commands(jobs: int, batch: int) -> Iterator[list[Any]]:
    for start in range(0, jobs, batch):
        size = min(batch, jobs - start)
        yield enqueue(QUEUE, [new_job("nothing", PAYLOAD, queue=QUEUE) for _ in range(size)]).command()


async def from_callers(send: Callable[[Any], Awaitable[None]], work: Iterator[Any], *, callers: int = CALLERS) -> None:
    """Several callers share out the work, each waiting for its own call."""

    async def caller() -> None:
        for item in work:
            await send(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(caller())


ENQUEUES = (
    Workload("enqueue, one by one", EnqueueSingly(), ScriptSingly(), share=0.1),
    Workload("enqueue, 64 callers", EnqueueTogether(), ScriptTogether(), share=0.2),
    Workload("enqueue, in bulk", EnqueueInBulk(), ScriptInBulk()),
)
