"""Fixtures every test may use: a real server of this session's own, and a clean database on it for each test.

Tests never touch a server they did not start; LEASEFORGE_REDIS_URL of the caller is ignored on purpose.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from leaseforge.store import Store, SyncStore, connect, connect_sync
from tests.support import OwnServer, Process, start_server


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One asyncio loop for all fixtures and tests of the session."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> Iterator[None]:
    """The caller's settings, OpenTelemetry's too, must not decide what a test sees."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("LEASEFORGE_", "OTEL_")) and not name.startswith("LEASEFORGE_TEST_"):
                patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    """The session's own server: `embedded` or `redis` after LEASEFORGE_TEST_SERVER."""
    own = start_server(tmp_path_factory.mktemp("redis"))
    yield own
    own.embedded.stop()


@pytest.fixture
def redis_url(server: OwnServer) -> str:
    """The URL of an empty logical database; `store` and `sync_store` of the same test use this one."""
    return server.clean_database()


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Store]:
    """An async store on the test's own database."""
    connected = connect(redis_url)
    yield connected
    await connected.aclose()


@pytest.fixture
def sync_store(redis_url: str) -> Iterator[SyncStore]:
    """A sync store on the test's own database."""
    connected = connect_sync(redis_url)
    yield connected
    connected.close()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts child processes that are ended with the test: `processes([sys.executable, "-m", ...], env={...})`."""
    with ExitStack() as ending:
        count = 0

        def start(
            argv: Sequence[str | Path], *, env: Mapping[str, str | None] | None = None, cwd: Path | None = None
        ) -> Process:
            nonlocal count
            count += 1
            child = Process(argv, output_file=tmp_path / f"process-{count}.log", env=env, cwd=cwd)
            return ending.enter_context(child)

        yield start
