"""A slot moves while its queue is full and at work: nothing is lost, nothing is quarantined, everybody waits it out."""

import pytest

from leaseforge.answers import Answer
from leaseforge.exchanges import Outcome, Settlement
from leaseforge.limits import CHUNK
from leaseforge.store import connect
from tests.support.cluster import Node, OwnCluster
from tests.support.references import audit_all
from tests.support.resharding import Load, move_slot
from tests.support.waiting import eventually

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
