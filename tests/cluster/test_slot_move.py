"""A slot moves while its queue is full and at work: nothing is lost, nothing is quarantined, everybody waits it out."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from leaseforge import operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import StoreUnavailable
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.limits import CHUNK
from leaseforge.operations import Durability
from leaseforge.requests import new_job
from leaseforge.store import connect, connect_sync
from tests.support.cluster import Node, OwnCluster
from tests.support.references import audit_all
from tests.support.resharding import Load, move_slot
from tests.support.waiting import eventually, eventually_sync

QUEUE = "line"


def refused(node: Node) -> int:
    """How often a node answered TRYAGAIN."""
    stats = node.client.info("errorstats").get("errorstat_TRYAGAIN", {"count": 0})
    return int(stats["count"])


@pytest.mark.parametrize("total", [pytest.param(400), pytest.param(10_000, marks=pytest.mark.soak)])
async def test_a_slot_moves_under_load(cluster: OwnCluster, total: int) -> None:
    source = cluster.owner(QUEUE)
    target = next(node for node in cluster.nodes if node is not source)
    refusals = refused(source) + refused(target)
    async with connect(cluster.url, retry_s=90) as store:
        load = Load(store, QUEUE)
        await load.fill(total)
        before = audit_all(source.client, QUEUE)
        assert all(before.sets.values()), "a state holds no job"

        async with load.running():
            await eventually(lambda: len(load.settled) > 20)
            moved = await move_slot(cluster, QUEUE, target)
            settled, stored = len(load.settled), len(load.stored)
            await eventually(lambda: len(load.settled) > settled + 50 and len(load.stored) > stored + 20, within_s=90)

        for start in range(0, len(load.held), CHUNK):
            held = load.held[start : start + CHUNK]
            await load.exchange("holder", 0, [Settlement(job.id, job.token, Outcome.COMPLETE) for job in held])

    assert moved > total
    assert refused(source) + refused(target) > refusals
    assert not source.client.keys(f"lf:{{{QUEUE}}}:*")
    after = audit_all(target.client, QUEUE)
    assert set(after.records) == load.stored
    assert set(load.settled.values()) == {Answer.OK}
    assert after.counts["enqueued"] == len(load.stored)
    assert after.counts["completed"] + after.counts["cancelled"] + after.counts["released"] <= len(load.settled)
    assert {name: after.counts.get(name, 0) for name in ("quarantined", "dropped", "fenced", "recovered")} == {
        "quarantined": 0,
        "dropped": 0,
        "fenced": 0,
        "recovered": 0,
    }
    assert not after.sets["running"]


async def test_a_call_waits_out_a_move_that_its_client_gives_up_on(cluster: OwnCluster) -> None:
    """redis-py follows 16 refusals, for less than half a second; a slot with many keys takes longer."""
    source = cluster.owner(QUEUE)
    target = next(node for node in cluster.nodes if node is not source)
    async with connect(cluster.url, retry_s=60) as store:
        load = Load(store, QUEUE)
        await load.enqueue(60)
        cluster.begin_move(QUEUE, target)
        cluster.move_keys(QUEUE, target, most=40)
        refusals = refused(source) + refused(target)

        waiting = asyncio.create_task(load.exchange("w1", 5))
        await eventually(lambda: refused(source) + refused(target) > refusals + 40, within_s=60)
        assert not waiting.done()
        while cluster.move_keys(QUEUE, target):
            pass
        cluster.end_move(QUEUE, target)

        assert len((await waiting).claimed) == 5
    audit_all(target.client, QUEUE)


def test_a_sync_call_waits_it_out_too(cluster: OwnCluster) -> None:
    source = cluster.owner(QUEUE)
    target = next(node for node in cluster.nodes if node is not source)
    with connect_sync(cluster.url, retry_s=60) as store, ThreadPoolExecutor(1) as pool:
        store.run(operations.enqueue(new_job("work", queue=QUEUE)))
        cluster.begin_move(QUEUE, target)
        cluster.move_keys(QUEUE, target, most=2)
        refusals = refused(source) + refused(target)

        waiting = pool.submit(store.run, reads.queue(QUEUE))
        eventually_sync(lambda: refused(source) + refused(target) > refusals + 40, within_s=60)
        assert not waiting.done()
        while cluster.move_keys(QUEUE, target):
            pass
        cluster.end_move(QUEUE, target)

        assert waiting.result(timeout=60).size == 1


async def test_a_replicated_call_finds_the_node_a_slot_has_moved_to(cluster: OwnCluster) -> None:
    """It goes to a node of its own choice, so the choice must follow the slot; here no node has a replica."""
    source = cluster.owner(QUEUE)
    target = next(node for node in cluster.nodes if node is not source)
    job = new_job("work", queue=QUEUE)
    async with connect(cluster.url) as store:
        await store.run(operations.enqueue(new_job("work", queue=QUEUE)))
        cluster.begin_move(QUEUE, target)
        while cluster.move_keys(QUEUE, target):
            pass
        cluster.end_move(QUEUE, target)

        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.run(operations.enqueue(job, durability=Durability.REPLICATED))

    assert job.id in audit_all(target.client, QUEUE).records
