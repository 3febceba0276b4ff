"""Keys damaged behind the product's back while workers run: what is whole gets done, and all can be looked at."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import redis

from leaseforge import operations
from leaseforge.jobs import JobState
from leaseforge.keys import QUEUE_KEYS, queue_key, system_key
from leaseforge.requests import new_job
from leaseforge.store import Store
from tests.faults.audit import audit
from tests.faults.damage import DAMAGES, plant_foreign_members
from tests.faults.harsh_tasks import harsh
from tests.faults.produced import Produced, Producer
from tests.faults.site import a_site
from tests.faults.workers import Crew, log_lines
from tests.support.waiting import eventually
from tests.worker.workers import all_ended, counts, ended, enqueue, many, the_job

DAMAGED = "damaged"
FAR_MS = 3_600_000


async def test_whatever_is_written_into_a_queue_the_whole_jobs_end_and_every_page_opens(
    store: Store, crew: Crew, redis_url: str, produced: Produced
) -> None:
    workers = crew.workers(2, lease_s=1.0, concurrency=16, wrap=harsh, LEASEFORGE_WORKER_QUEUES=f"default,{DAMAGED}")
    by_state = await _jobs_in_every_state(store, len(DAMAGES))
    doomed = list(chain(*by_state.values()))
    whole = await enqueue(store, *many("work", 30, {"ms": 5}, queue=DAMAGED))

    async with a_site(redis_url) as site:
        with redis.Redis.from_url(redis_url) as client, Producer(redis_url, produced, count=200, pause_s=0.005):
            for ids in by_state.values():
                for job_id, damage in zip(ids, DAMAGES.values(), strict=True):
                    damage(client, queue_key(DAMAGED, f"job:{job_id}"))
            plant_foreign_members(client, DAMAGED)
            assert await site.refused_pages("default", DAMAGED, job_ids=tuple(doomed)) == []

            crew.ledger.gate.touch()
            for state in ("scheduled", "retrying"):
                client.zadd(queue_key(DAMAGED, state), dict.fromkeys(by_state[state], 1), xx=True)
            await store.run(operations.resume(DAMAGED))
            await eventually(lambda: _is_worked_off(client), within_s=40)
        await all_ended(store, 200)
        assert await site.refused_pages("default", DAMAGED) == []

    [late] = await enqueue(store, new_job("work", {"ms": 1}, queue=DAMAGED, delay_ms=200))
    assert (await ended(store, late)).state is JobState.COMPLETED
    for job_id in whole:
        job = await the_job(store, job_id)
        assert (job.state, job.attempts, job.failures, job.recoveries) == (JobState.COMPLETED, 1, 0, 0)
    for worker in workers:
        worker.end()
        assert not [*log_lines(worker, "loop_crashed"), *log_lines(worker, "sweep_failed")]
    with redis.Redis.from_url(redis_url) as client:
        client.delete(*client.keys(queue_key(DAMAGED, "*")))  # what it holds now is nobody's to explain
        client.zrem(system_key("queues"), DAMAGED)
    audit(redis_url, crew.ledger, produced, lease_ms=1000)


async def _jobs_in_every_state(store: Store, count: int) -> dict[str, list[str]]:
    """So many jobs of the damaged queue in each state, which is then paused."""
    later: dict[str, Any] = {"backoff": "fixed", "backoff_base_ms": FAR_MS}
    plan: dict[str, Callable[[], Any]] = {
        "running": lambda: new_job("wait_for_gate", queue=DAMAGED),
        "scheduled": lambda: new_job("work", {"ms": 1}, queue=DAMAGED, delay_ms=FAR_MS),
        "retrying": lambda: new_job("fails_until_gate", queue=DAMAGED, max_attempts=5, **later),
        "completed": lambda: new_job("work", {"ms": 1}, queue=DAMAGED),
        "dead": lambda: new_job("breaks", queue=DAMAGED, max_attempts=1),
        "cancelled": lambda: new_job("work", {"ms": 1}, queue=DAMAGED, delay_ms=FAR_MS),
    }
    made = {state: await enqueue(store, *[make() for _ in range(count)]) for state, make in plan.items()}
    for job_id in made["cancelled"]:
        await store.run(operations.cancel(job_id, operation="test"))

    async def all_there() -> bool:
        return await counts(store, DAMAGED) == dict.fromkeys(plan, count)

    await eventually(all_there)
    await store.run(operations.pause(DAMAGED))
    made["ready"] = await enqueue(store, *many("work", count, {"ms": 1}, queue=DAMAGED))
    return made


def _is_worked_off(client: Any) -> bool:
    """Whether nothing but what is due never is left in the live sets."""
    left = {
        state: client.zrange(queue_key(DAMAGED, state), 0, -1)
        for state in ("ready", "running", "scheduled", "retrying")
    }
    assert all(set(members) <= {b"for ever"} for members in left.values()), left
    return True


async def test_foreign_keys_in_a_queues_place_stop_that_queue_only_and_until_they_are_gone(
    store: Store, crew: Crew, redis_url: str, produced: Produced
) -> None:
    damaged = {f"no-{name.replace(':', '-')}": name for name in sorted(QUEUE_KEYS - {"guard"})}
    for queue in damaged:
        await enqueue(store, new_job("work", {"ms": 1}, queue=queue))
    workers = crew.workers(2, lease_s=1.0, concurrency=8, LEASEFORGE_WORKER_QUEUES=",".join([*damaged, "default"]))
    for queue in damaged:
        await all_ended(store, 1, queue=queue)

    async with a_site(redis_url) as site:
        with redis.Redis.from_url(redis_url) as client:
            for queue, name in damaged.items():
                client.delete(queue_key(queue, name))
                client.set(queue_key(queue, name), b"\xff")
            with Producer(redis_url, produced, count=100) as producer:
                producer.join(60)
            assert await all_ended(store, 100) == {"completed": 100}
            assert await site.refused_pages("default", *damaged) == []
            client.delete(*[queue_key(queue, name) for queue, name in damaged.items()])

    for queue in damaged:
        [job_id] = await enqueue(store, new_job("work", {"ms": 1}, queue=queue))
        assert (await ended(store, job_id, within_s=30)).state is JobState.COMPLETED
    for worker in workers:
        assert worker.returncode is None
