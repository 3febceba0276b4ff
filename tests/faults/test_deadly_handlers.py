"""Handlers that take their process with them."""

import asyncio
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from leaseforge.limits import MAX_RECOVERIES
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.faults.audit import audit
from tests.faults.harsh_tasks import harsh
from tests.faults.workers import Crew
from tests.support.processes import Process
from tests.support.waiting import eventually
from tests.worker.workers import all_ended, enqueue, many, the_job


@pytest.mark.parametrize("kind", ["segfaults", "exits"])
async def test_a_job_that_kills_every_worker_it_meets_ends_as_poison_and_the_others_get_done(
    store: Store, crew: Crew, redis_url: str, kind: str
) -> None:
    [deadly] = await enqueue(store, new_job(kind))

    async def has_killed() -> bool:
        return (await the_job(store, deadly)).recoveries > 0

    async with _successors(crew) as deaths:
        await eventually(has_killed, within_s=60)
        # They may share the deaths to come, which are no more than their budget; all of them would be one too many.
        harmless = await enqueue(store, *many("work", 40, {"ms": 50}))
        assert await all_ended(store, 41, within_s=90) == {"completed": 40, "dead": 1}

    job = await the_job(store, deadly)
    assert (job.reason, job.failures, job.recoveries) == ("poison", 0, MAX_RECOVERIES + 1)
    assert [attempt.outcome for attempt in job.history] == ["lost"] * (MAX_RECOVERIES + 1)
    assert len(deaths) == MAX_RECOVERIES + 1
    assert len(crew.ledger.noted("start", deadly)) <= MAX_RECOVERIES + 1
    assert {line.job for line in crew.ledger.noted("end")} == {*harmless}
    audit(redis_url, crew.ledger)


async def test_isolated_handlers_harm_nobody_but_themselves(store: Store, crew: Crew, redis_url: str) -> None:
    workers = crew.workers(2, lease_s=2.0, concurrency=8, drain_s=2.0, wrap=harsh, LEASEFORGE_BACKOFF_BASE="0.05")
    once: dict[str, Any] = {"max_attempts": 1, "timeout_ms": 1500}
    deadly = await enqueue(store, *[new_job("isolated", how) for how in ("exit", "segfault", "grandchildren")])
    endless = await enqueue(
        store, new_job("isolated", "interpreter", **once), new_job("isolated_swallows_cancel", **once)
    )
    [greedy] = await enqueue(store, new_job("isolated_glutton", max_attempts=1))
    neighbours = await enqueue(
        store, *many("work", 60, {"ms": 50}), *many("work_in_thread", 20, {"ms": 50}), *many("isolated", 10, "nothing")
    )

    assert await all_ended(store, 96, within_s=90) == {"completed": 90, "dead": 6}

    for job_id in deadly:
        job = await the_job(store, job_id)
        assert (job.reason, job.recoveries, job.failures) == ("poison", MAX_RECOVERIES + 1, 0)
        assert [attempt.outcome for attempt in job.history] == ["crashed"] * (MAX_RECOVERIES + 1)
    for job_id in endless:
        assert [attempt.outcome for attempt in (await the_job(store, job_id)).history] == ["timeout"]
    assert (await the_job(store, greedy)).failures == 1
    jobs = [await the_job(store, job_id) for job_id in neighbours]
    assert {(job.failures, job.recoveries) for job in jobs} == {(0, 0)}
    starts = Counter(line.job for line in crew.ledger.noted("start"))
    assert {starts[job_id] for job_id in neighbours} == {1}
    for worker in workers:
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 0
    started = [int(pid) for worker in workers for pid in re.findall(r"grandchild (\d+)", worker.output())]
    assert len(started) == 3 * (MAX_RECOVERIES + 1)
    await eventually(lambda: not any(_is_alive(pid) for pid in [*started, *_pids(crew)]))
    audit(redis_url, crew.ledger, lease_ms=2000)


def _pids(crew: Crew) -> set[int]:
    """Every process that ran a handler."""
    return {line.pid for line in crew.ledger.lines()}


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@asynccontextmanager
async def _successors(crew: Crew) -> AsyncIterator[list[int]]:
    """Starts a new worker whenever one has died; the exit codes of the dead. The last one is drained."""
    deaths: list[int] = []
    worker: list[Process] = []

    async def keep_alive() -> None:
        while True:
            [alive] = worker[:] = crew.workers(
                1, ready=False, lease_s=0.6, concurrency=4, wrap=harsh, LEASEFORGE_BACKOFF_BASE="0.05"
            )
            while alive.returncode is None:
                await asyncio.sleep(0.02)
            deaths.append(alive.returncode)

    keeping = asyncio.create_task(keep_alive())
    try:
        yield deaths
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    worker[0].end()
