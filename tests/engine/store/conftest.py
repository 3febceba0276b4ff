"""Both executors against the session's server, and a server of a test's own for what would disturb others."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support import OwnServer, start_server
from tests.support.doors import DOORS, Door, open_door
from tests.support.live_queue import LiveQueue
from tests.support.proxy import Proxy


@pytest.fixture(params=DOORS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which executor."""
    return str(request.param)


@pytest.fixture
async def door(kind: str, line: LiveQueue) -> AsyncIterator[Door]:
    """An executor for the database of `line`."""
    opened = open_door(kind, line.url)
    yield opened
    await opened.aclose()


@pytest.fixture
def proxy(server: OwnServer) -> Iterator[Proxy]:
    """A proxy in front of the session's server."""
    with Proxy(server.port) as running:
        yield running


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    """A server that tests may misconfigure, as long as they put it right again."""
    own = start_server(tmp_path_factory.mktemp("own"))
    yield own
    own.embedded.stop()


@pytest.fixture
def own_line(own_server: OwnServer) -> Iterator[LiveQueue]:
    """A queue on that server, audited afterwards."""
    with LiveQueue(own_server.clean_database()) as queue:
        yield queue
        queue.audit()
