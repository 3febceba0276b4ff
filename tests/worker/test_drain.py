"""A drain that begins while a claim is under way: its jobs are this worker's, although it has not heard of them yet."""

import pytest

from leaseforge import Context, JobState, new_job, task
from leaseforge.store import Store
from tests.faults.proxy import proxied
from tests.worker.workers import a_worker, enqueue, running, the_job


@task
async def quick(ctx: Context) -> None:
    ctx.progress(50)


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_jobs_of_a_claim_under_way_are_finished_or_given_back(
    store: Store, redis_url: str, concurrency: int
) -> None:
    async with proxied(redis_url) as (proxy, url):
        proxy.latency_s = 0.1
        async with a_worker(url, quick, concurrency=concurrency, lease_s=10.0) as worker:
            ids = await enqueue(store, *[new_job("quick") for _ in range(4)])
            await running(store, concurrency)  # and the reply that says so is on its way
            worker.ask_to_stop()

    jobs = [await the_job(store, job_id) for job_id in ids]
    assert [job.state for job in jobs[:concurrency]] == [JobState.COMPLETED] * concurrency
    assert {job.state for job in jobs[concurrency:]} <= {JobState.READY}
