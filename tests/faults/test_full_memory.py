"""A server at its memory limit (noeviction): nothing new comes in, and all that is in gets done."""

from collections import Counter
from collections.abc import Callable

import pytest

from leaseforge import operations
from leaseforge.errors import StoreFull
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import connect
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced, Producer
from tests.faults.servers import FaultyServer
from tests.faults.site import a_site
from tests.faults.workers import Crew, log_lines, probe
from tests.support.processes import Process
from tests.support.waiting import eventually
from tests.worker.workers import all_ended, counts, ended, enqueue, many, the_job


async def test_a_full_server_refuses_new_jobs_and_lets_all_others_end(
    faulty_server: Callable[..., FaultyServer], processes: Callable[..., Process], ledger: Ledger, produced: Produced
) -> None:
    server = faulty_server(fsync="no")
    crew = Crew(processes, server.url, ledger)
    workers = crew.workers(2, lease_s=1.5, concurrency=4, LEASEFORGE_WORKER_QUEUES="default,other")
    retried = {"max_attempts": 3, "backoff": "fixed", "backoff_base_ms": 200}
    async with connect(server.url) as store, a_site(server.url) as site:
        with server.client() as client:
            running = await enqueue(store, *many("wait_for_gate", 4), *many("thread_until_gate", 4))
            await eventually(lambda: len(ledger.noted("start")) == 8)
            waiting = await enqueue(
                store,
                *many("work", 40, {"ms": 20}),
                *many("work", 10, {"ms": 5}, delay_ms=1500),
                *many("breaks", 5, **retried),
            )
            client.config_set("maxmemory", 1)

            with pytest.raises(StoreFull):
                await store.run(operations.enqueue(new_job("work", {"ms": 1})))
            with Producer(server.url, produced, count=20) as producer:
                producer.join(30)
            refused = await site.enqueue(payload={"ms": 1})
            assert (refused.status_code, refused.json()["type"]) == (503, "urn:leaseforge:problem:store-full")
            assert int(refused.headers["retry-after"]) > 0

            ledger.gate.touch()
            done = await all_ended(store, len(running) + len(waiting))

            assert done == {"completed": 58, "dead": 5}
            assert {probe(worker, "/ready") for worker in workers} == {200}
            assert not [line for worker in workers for line in log_lines(worker, "redis_lost")]
            assert await site.refused_pages("default", job_ids=(running[0], waiting[-1])) == []
            client.config_set("maxmemory", 0)

        assert produced.acknowledged == produced.unknown == set()
        assert len(produced.refused) == 20
        starts = Counter(line.job for line in ledger.noted("start"))
        assert starts == {**dict.fromkeys(running + waiting, 1), **dict.fromkeys(waiting[-5:], 3)}
        assert (await site.enqueue(payload={"ms": 1})).status_code == 201
        assert (await all_ended(store, 64))["completed"] == 59


async def test_follow_ups_for_another_queue_wait_until_there_is_room_for_them(
    faulty_server: Callable[..., FaultyServer], processes: Callable[..., Process], ledger: Ledger
) -> None:
    server = faulty_server(fsync="no")
    crew = Crew(processes, server.url, ledger)
    crew.worker(lease_s=1.5, LEASEFORGE_WORKER_QUEUES="default,other")
    async with connect(server.url) as store:
        await enqueue(store, new_job("work", {"ms": 1}, queue="other", idempotency_key="taken"))
        with server.client() as client:
            [parent] = await enqueue(store, new_job("fans_out", {"other": "other", "taken_key": "taken"}, delay_ms=500))
            client.config_set("maxmemory", 1)
            assert (await ended(store, parent)).state is JobState.COMPLETED

            assert await counts(store, "other") == {"completed": 1}
            client.config_set("maxmemory", 0)

        assert await all_ended(store, 2, queue="other") == {"completed": 2}
        assert (await the_job(store, parent)).attempts == 1
        assert await all_ended(store, 2) == {"completed": 2}
