"""Replies that never arrive: what was done in Redis is neither done again nor forgotten.

Each call on its own, with the answer that its repetition gets, is held by tests/engine/store/test_lost_replies.py; here
a worker lives through the loss of every third reply to one kind of call.
"""

import asyncio
from collections import Counter

import pytest

from leaseforge import operations
from leaseforge.context import Context
from leaseforge.requests import new_job
from leaseforge.store import Store, connect
from leaseforge.tasks import task
from tests.faults.audit import audit
from tests.faults.produced import Produced
from tests.faults.proxy import EveryThird, Which, calls_of, proxied
from tests.support.waiting import eventually
from tests.worker.workers import a_worker, all_ended, counts, enqueue, many, the_job

KINDS: dict[str, Which] = {
    **{
        name: calls_of(name)
        for name in (
            "exchange",
            "renew",
            "tick",
            "register_worker",
            "deregister_worker",
            "read_outbox",
            "forwarded",
            "register_queue",
            "enqueue",
        )
    },
    "wait": lambda request: b"BLPOP" in request,
}


@pytest.mark.parametrize("kind", list(KINDS))
async def test_jobs_run_once_and_uncharged_although_replies_get_lost(
    store: Store, redis_url: str, produced: Produced, kind: str
) -> None:
    starts: Counter[str] = Counter()

    @task
    async def count(ctx: Context, payload: str) -> None:
        starts[ctx.job_id] += 1
        await asyncio.sleep(0.05)
        if payload:
            ctx.enqueue("count", "", queue=payload)

    async with proxied(redis_url) as (proxy, url), connect(url) as producer:
        proxy.loses = EveryThird(KINDS[kind])
        async with a_worker(url, count, queues="default,other", concurrency=4, lease_s=0.9):
            for _ in range(6):
                jobs = [new_job("count", "other" if number == 0 else "") for number in range(10)]
                produced.add(*[one.id for one in await producer.run(operations.enqueue_many(jobs))])
            assert await all_ended(store, 60) == {"completed": 60}
            await eventually(lambda: has_counts(store, "other", {"completed": 6}))
        assert proxy.lost > 0

    queues = audit(redis_url, produced=produced, lease_ms=900)
    jobs_by_id = {id: job for queue in queues.values() for id, job in queue.records.items()}
    assert starts == Counter(list(jobs_by_id))
    assert {job["attempts"] for job in jobs_by_id.values()} == {"1"}


async def has_counts(store: Store, queue: str, expected: dict[str, int]) -> bool:
    return await counts(store, queue) == expected


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
