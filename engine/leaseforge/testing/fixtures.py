"""Pytest fixtures for projects with tasks: in a conftest.py `pytest_plugins = ["leaseforge.testing.fixtures"]`.

They start a Redis-compatible server of the test session's own (the `local` extra, or a server program on PATH), which
keeps nothing and ends with the session.
"""

from collections.abc import Iterator

import pytest
import redis

from leaseforge.client import Client
from leaseforge.embedded import EmbeddedServer


@pytest.fixture(scope="session")
def leaseforge_server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the session's server. Raises EmbeddedServerError where no server program is installed."""
    with EmbeddedServer(tmp_path_factory.mktemp("leaseforge"), durable=False) as server:
        yield server.url


@pytest.fixture
def leaseforge_url(leaseforge_server_url: str) -> str:
    """The same URL, with nothing stored there yet: everything is emptied before each test that asks for it."""
    with redis.Redis.from_url(leaseforge_server_url) as connection:
        connection.flushall()
    return leaseforge_server_url


@pytest.fixture
def leaseforge_client(leaseforge_url: str) -> Iterator[Client]:
    """A client of the emptied server, closed after the test."""
    with Client(leaseforge_url) as client:
        yield client
