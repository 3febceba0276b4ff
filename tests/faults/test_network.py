"""Networks between workers and their server: slow, silent, half-open, in single bytes."""

import asyncio
from collections.abc import Callable

import pytest

from leaseforge.store import Store
from tests.faults.audit import audit
from tests.faults.ledger import Ledger
from tests.faults.produced import Produced, Producer
from tests.faults.proxy import Proxy, proxied
from tests.faults.workers import Crew, log_lines
from tests.support.waiting import eventually
from tests.worker.workers import all_ended

Fault = Callable[[Proxy], object]


def slow(proxy: Proxy) -> None:
    proxy.latency_s = 0.04


def split(proxy: Proxy) -> None:
    proxy.splits = True


@pytest.mark.parametrize("fault", [slow, split])
async def test_a_bad_line_costs_only_time(
    crew: Crew, ledger: Ledger, produced: Produced, store: Store, redis_url: str, fault: Fault
) -> None:
    async with proxied(redis_url) as (proxy, url):
        fault(proxy)
        await asyncio.to_thread(crew.worker, url=url)
        with Producer(redis_url, produced, count=200):
            await eventually(lambda: len(produced.acknowledged) == 200, within_s=60)
        assert await all_ended(store, 200, within_s=60) == {"completed": 200}
    queue = audit(redis_url, ledger, produced, lease_ms=2000)["default"]
    assert {job.get("failures", "0") for job in queue.records.values()} == {"0"}


@pytest.mark.parametrize("fault", ["black hole", "half-open", "cut"])
async def test_a_line_that_breaks_is_found_and_replaced(
    crew: Crew, ledger: Ledger, produced: Produced, store: Store, redis_url: str, fault: str
) -> None:
    """Neither end is told of a black hole or of a half-open connection: only a worker's own limits find out."""
    async with proxied(redis_url) as (proxy, url), proxied(redis_url) as (producers, producers_url):
        worker = await asyncio.to_thread(crew.worker, url=url)
        with Producer(producers_url, produced, count=200, pause_s=0.01):
            await eventually(lambda: len(ledger.noted("end")) >= 20)
            for one in (proxy, producers):
                if fault == "black hole":
                    one.swallows = True
                elif fault == "half-open":
                    one.vanish()
                else:
                    one.cut()
            if fault == "black hole":
                await eventually(lambda: log_lines(worker, "redis_lost"), within_s=30)
                await asyncio.sleep(2)
                proxy.swallows = producers.swallows = False
                proxy.cut()  # what was swallowed never comes: as after a route that changed
            await eventually(lambda: len(produced.acknowledged) == 200, within_s=60)
        assert await all_ended(store, 200, within_s=60) == {"completed": 200}
        if fault != "cut":  # which may fall between two calls
            assert log_lines(worker, "redis_lost")
        await eventually(lambda: len(log_lines(worker, "redis_lost")) == len(log_lines(worker, "redis_back")))
        worker.check_running()
    queue = audit(redis_url, ledger, produced, lease_ms=2000)["default"]
    assert {job.get("failures", "0") for job in queue.records.values()} == {"0"}
