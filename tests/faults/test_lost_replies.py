"""Replies that never arrive: what was done in Redis is neither done again nor forgotten."""

import asyncio
from collections import Counter

import pytest

from leaseforge.context import Context
from leaseforge.store import Store
from leaseforge.tasks import task
from tests.faults.proxy import EveryThird, calls_of, proxied
from tests.worker.workers import a_worker, all_ended, enqueue, many, the_job


@pytest.mark.parametrize("script", ["exchange", "renew", "tick", "register_worker"])
async def test_jobs_run_once_and_uncharged_although_replies_get_lost(store: Store, redis_url: str, script: str) -> None:
    starts: Counter[str] = Counter()

    @task
    async def count(ctx: Context) -> None:
        starts[ctx.job_id] += 1
        await asyncio.sleep(0.05)

    async with proxied(redis_url) as (proxy, url):
        proxy.loses = EveryThird(calls_of(script))
        async with a_worker(url, count, concurrency=4, lease_s=0.9):
            ids = await enqueue(store, *many("count", 60))
            assert await all_ended(store, 60) == {"completed": 60}

    jobs = [await the_job(store, job_id) for job_id in ids]
    assert starts == Counter(ids)
    assert {(job.attempts, job.failures, job.recoveries) for job in jobs} == {(1, 0, 0)}
    assert proxy.lost > 0


async def test_the_reply_to_a_claim_is_adopted_and_its_jobs_run(store: Store, redis_url: str) -> None:
    """Every first try of an exchange is lost: nothing could run without adoption."""
    is_exchange = calls_of("exchange")
    seen: set[bytes] = set()

    def first_try(request: bytes) -> bool:
        if not is_exchange(request) or request in seen:
            return False
        seen.add(request)
        return True

    starts: Counter[str] = Counter()

    @task
    async def count(ctx: Context) -> None:
        starts[ctx.job_id] += 1

    ids = await enqueue(store, *many("count", 20))
    async with proxied(redis_url) as (proxy, url):
        proxy.loses = first_try
        async with a_worker(url, count, concurrency=4):
            assert await all_ended(store, 20) == {"completed": 20}

    jobs = [await the_job(store, job_id) for job_id in ids]
    assert starts == Counter(ids)
    assert {job.attempts for job in jobs} == {1}
    assert proxy.lost > 1
