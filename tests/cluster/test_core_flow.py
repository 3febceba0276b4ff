"""A cluster answers as one server does, through either store; keys of two queues stand on different nodes."""

import pytest

from leaseforge.store import SyncStore, connect, connect_sync
from tests.support.cluster import OwnCluster
from tests.support.core_flow import core_flow
from tests.support.references import audit_all


async def test_the_async_store_goes_through_every_transition(cluster: OwnCluster, sync_store: SyncStore) -> None:
    async with connect(cluster.url) as store:
        await store.check()
        said = await store.run(core_flow("flow"))

    assert said == sync_store.run(core_flow("flow"))
    audit_all(cluster.owner("flow").client, "flow")
    audit_all(cluster.owner("flow.next").client, "flow.next")


def test_the_sync_store_goes_through_every_transition(cluster: OwnCluster, sync_store: SyncStore) -> None:
    with connect_sync(cluster.url) as store:
        store.check()
        said = store.run(core_flow("flow"))

    assert said == sync_store.run(core_flow("flow"))
    audit_all(cluster.owner("flow").client, "flow")


@pytest.mark.parametrize("protocol", [2, 3])
async def test_both_protocols_give_the_same_answers(cluster: OwnCluster, sync_store: SyncStore, protocol: int) -> None:
    async with connect(f"{cluster.url}?protocol={protocol}") as store:
        said = await store.run(core_flow("flow"))

    assert said == sync_store.run(core_flow("flow"))


def test_a_follow_up_goes_to_another_node(cluster: OwnCluster) -> None:
    assert cluster.owner("flow") is not cluster.owner("flow.next")


async def test_waiting_for_a_queue_and_looking_at_the_cluster(cluster: OwnCluster) -> None:
    async with connect(cluster.url) as store:
        assert await store.wait(["flow"], timeout_s=0.05) is None
        cluster.owner("flow").client.rpush("lf:{flow}:wake", "1")

        assert await store.wait(["flow"], timeout_s=5) == "flow"
        await store.ping()
        assert (await store.info())["role"] == "master"
