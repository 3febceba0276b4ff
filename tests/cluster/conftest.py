"""A cluster of three primaries, of each server program there is."""

from collections.abc import Iterator

import pytest

from tests.support.cluster import BINARIES, OwnCluster, running_cluster, server_binary


@pytest.fixture(scope="session", params=sorted(BINARIES))
def own_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """One cluster for all tests of the session."""
    folder = tmp_path_factory.mktemp(f"cluster-{request.param}")
    with running_cluster(folder, binary=server_binary(request.param)) as cluster:
        yield cluster


@pytest.fixture
def cluster(own_cluster: OwnCluster) -> OwnCluster:
    """The cluster, emptied."""
    own_cluster.flush()
    return own_cluster
