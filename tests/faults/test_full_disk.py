"""A server that cannot write its append-only file (MISCONF): it changes nothing, and nobody forgets anything."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.errors import StoreFull
from leaseforge.requests import new_job
from leaseforge.store import connect
from tests.faults.disk import ServerOnSmallDisk
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced, Producer
from tests.faults.site import Site, a_site
from tests.faults.workers import Crew, log_lines, probe
from tests.support.processes import Process
from tests.support.waiting import eventually
from tests.worker.workers import all_ended, enqueue, many, the_job


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerOnSmallDisk]:
    with ServerOnSmallDisk(tmp_path) as started:
        yield started


async def test_nothing_is_lost_or_run_twice_while_the_disk_is_full(
    server: ServerOnSmallDisk, processes: Callable[..., Process], ledger: Ledger, produced: Produced
) -> None:
    crew = Crew(processes, server.url, ledger)
    workers = crew.workers(2, lease_s=3.0, concurrency=4)
    async with connect(server.url) as store, a_site(server.url) as site:
        held = await enqueue(store, *many("wait_for_gate", 4), *many("thread_until_gate", 4))
        await eventually(lambda: len(ledger.noted("start")) == 8)
        waiting = await enqueue(store, *many("work", 100, {"ms": 10}), *many("work", 10, {"ms": 1}, delay_ms=500))

        server.fill_disk()
        await eventually(lambda: all(probe(worker, "/ready") == 503 for worker in workers))
        await _refuses_politely(site)
        with pytest.raises(StoreFull):
            await store.run(operations.enqueue(new_job("work", {"ms": 1})))
        with Producer(server.url, produced, count=10) as producer:
            producer.join(30)
        ledger.gate.touch()
        await eventually(lambda: len(ledger.noted("end")) == 8)
        await eventually(_leases_are_over(server))
        assert {probe(worker, "/livez") for worker in workers} == {200}
        server.free_disk()

        assert await all_ended(store, 118) == {"completed": 118}
        await eventually(lambda: all(probe(worker, "/ready") == 200 for worker in workers))
        assert (await site.api.get("/ready")).status_code == 200
        assert (await site.enqueue(payload={"ms": 1})).status_code == 201
        await all_ended(store, 119)

        assert len(produced.refused) == 10
        jobs = [await the_job(store, job_id) for job_id in held + waiting]
        assert {(job.attempts, job.failures, job.recoveries) for job in jobs} == {(1, 0, 0)}
        starts = Counter(line.job for line in ledger.noted("start"))
        assert {job_id: starts[job_id] for job_id in held + waiting} == dict.fromkeys(held + waiting, 1)
        for worker in workers:
            assert not log_lines(worker, "job_fenced")
            assert worker.returncode is None

        # What was acknowledged, before and after, is in the file: the server comes back with it.
        server.kill()
        server.start()
        assert await all_ended(store, 119) == {"completed": 119}


async def _refuses_politely(site: Site) -> None:
    refused = await site.enqueue(payload={"ms": 1})
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:leaseforge:problem:store-full")
    assert (await site.api.get("/ready")).status_code == 503
    assert (await site.api.get("/livez")).status_code == 200
    page = await site.console.get("/console/queues")
    assert page.status_code in (200, 503)


def _leases_are_over(server: ServerOnSmallDisk) -> Callable[[], bool]:
    """Whether the leases of all running jobs have ended, which no worker could renew."""

    def look() -> bool:
        with server.client() as client:
            seconds, _ = client.time()
            scores: list[Any] = client.zrange("lf:{default}:running", 0, -1, withscores=True)
            return len(scores) >= 8 and all(score < seconds * 1000 for _, score in scores)

    return look
