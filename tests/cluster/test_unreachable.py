"""A cluster that is not there is StoreUnavailable like any other server, whatever its client raises."""

from collections.abc import Awaitable, Callable

import pytest

from leaseforge import operations, reads
from leaseforge.errors import StoreUnavailable, StoreUnsuitable
from leaseforge.operations import Durability
from leaseforge.requests import new_job
from leaseforge.store import Store, connect, connect_sync
from tests.support.cluster import OwnCluster, low_port

ASKS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "a call": lambda store: store.run(reads.queue_names()),
    "calls together": lambda store: store.run_many([reads.job_call("q", "1")]),
    "ping": lambda store: store.ping(),
    "the boot check": lambda store: store.check(),
    "waiting": lambda store: store.wait(["q"], timeout_s=0.05),
    "a replicated enqueue": lambda store: store.run(operations.enqueue(new_job("t"), durability=Durability.REPLICATED)),
}


@pytest.mark.parametrize("ask", list(ASKS))
async def test_an_async_store_says_that_the_cluster_is_unavailable(ask: str) -> None:
    async with connect(f"cluster://127.0.0.1:{low_port()}", retry_s=0.05) as store:
        with pytest.raises(StoreUnavailable):
            await ASKS[ask](store)


def test_a_sync_store_connects_when_it_is_first_used() -> None:
    with connect_sync(f"cluster://127.0.0.1:{low_port()}", retry_s=0.05) as store:
        with pytest.raises(StoreUnavailable):
            store.run(reads.queue_names())
        with pytest.raises(StoreUnavailable):
            store.check()


async def test_one_primary_that_may_evict_jobs_makes_the_cluster_unsuitable(cluster: OwnCluster) -> None:
    last = cluster.nodes[-1].client
    last.config_set("maxmemory-policy", "allkeys-lru")
    try:
        async with connect(cluster.url) as store:
            with pytest.raises(StoreUnsuitable, match="maxmemory-policy"):
                await store.check()
        with connect_sync(cluster.url) as store_sync, pytest.raises(StoreUnsuitable, match="maxmemory-policy"):
            store_sync.check()
    finally:
        last.config_set("maxmemory-policy", "noeviction")
