"""Each primary of a cluster tells of itself."""

from leaseforge.store import connect
from tests.support.cluster import OwnCluster


async def test_every_primary_tells_what_it_is(cluster: OwnCluster) -> None:
    async with connect(cluster.url) as store:
        reports = await store.servers()

    assert len({report.address for report in reports}) == 3
    assert {(report.mode, report.role) for report in reports} == {("cluster", "master")}
    assert all(report.memory and report.slow is not None and not report.refused for report in reports)
    assert all(report.clock_ahead_ms is not None for report in reports)
