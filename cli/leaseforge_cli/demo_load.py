"""A small stream of demo jobs for `leaseforge dev`, so that the console has something to show.

It is gentle (a few jobs a second) and bounded: it adds nothing to a queue that already has many jobs waiting, and stops
making jobs that fail once there are enough dead letters to look at.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from leaseforge import operations, reads
from leaseforge.errors import LeaseforgeError
from leaseforge.jobs import JobState, NewJob
from leaseforge.queues import QueueInfo
from leaseforge.requests import new_job
from leaseforge.store import Store

QUEUES = ("default", "mail", "reports")
JOBS_PER_SECOND = 3.0
MOST_WAITING_PER_QUEUE = 100
MOST_DEAD_PER_QUEUE = 20
# How long a look at the queues is trusted: at three jobs a second the bounds are passed by a dozen at most.
LOOK_EVERY_S = 4.0

# A task's name, its payload, and further fields of the request.
Demo: TypeAlias = tuple[str, dict[str, Any], dict[str, Any]]

WAITING = (JobState.READY, JobState.SCHEDULED, JobState.RETRYING)


async def run_demo_load(store: Store, *, pick: random.Random | None = None) -> None:
    """Enqueue until cancelled. Redis being away for a while only pauses it."""
    random_source = pick or random.Random()
    clock = asyncio.get_running_loop().time
    queues: Mapping[str, QueueInfo] = {}
    looked_at = -LOOK_EVERY_S
    while True:
        try:
            if clock() - looked_at >= LOOK_EVERY_S:
                queues = {info.name: info for info in await store.run(reads.queues())}
                looked_at = clock()
            if (job := next_job(queues, random_source)) is not None:
                await store.run(operations.enqueue(job))
        except LeaseforgeError:
            await asyncio.sleep(2.0)
        await asyncio.sleep(random_source.uniform(0.5, 1.5) / JOBS_PER_SECOND)


def next_job(queues: Mapping[str, QueueInfo], pick: random.Random) -> NewJob | None:
    """The next demo job, or None when its queue has enough of them."""
    queue = pick.choices(QUEUES, weights=(6, 3, 2))[0]
    waiting, dead = 0, 0
    if (info := queues.get(queue)) is not None:
        waiting = sum(info.counts.get(state, 0) for state in WAITING)
        dead = info.counts.get(JobState.DEAD, 0)
    if waiting >= MOST_WAITING_PER_QUEUE:
        return None
    kinds: list[Callable[[random.Random], Demo]] = [_echo, _sleep, _later, _pdf]
    weights = [8, 6, 1, 3]
    if dead < MOST_DEAD_PER_QUEUE:
        kinds.append(_fail)
        weights.append(1)
    task, payload, fields = pick.choices(kinds, weights=weights)[0](pick)
    return new_job(task, payload, queue=queue, created_by="demo-load", **fields)


def _echo(pick: random.Random) -> Demo:
    return "echo", {"greeting": "hello", "number": pick.randrange(1000)}, {"priority": pick.choice((0, 0, 0, 5, 10))}


def _sleep(pick: random.Random) -> Demo:
    return "sleep", {"duration_ms": pick.randrange(100, 4000)}, {}


def _later(pick: random.Random) -> Demo:
    return "echo", {"greeting": "later"}, {"delay_ms": pick.randrange(20_000, 90_000), "tags": ("delayed",)}


def _pdf(pick: random.Random) -> Demo:
    return "generate_pdf", {"title": f"Report {pick.randrange(100, 999)}"}, {"tags": ("report",)}


def _fail(pick: random.Random) -> Demo:
    return "fail", {"message": "the demo fails on purpose"}, {"max_attempts": pick.choice((1, 2, 3))}
