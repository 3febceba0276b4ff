"""The Redis-compatible server a test session starts for itself, and the clean databases it hands out."""

import os
from itertools import cycle
from pathlib import Path

import redis

from leaseforge.embedded import EmbeddedServer
from leaseforge.server_binary import BUNDLED, EmbeddedServerError, ServerBinary, find_binary
from tests.support.components import unavailable
from tests.support.waiting import free_port

DATABASES = 64


class OwnServer:
    """A server this session started: on a loopback port, keeping nothing on disk."""

    def __init__(self, embedded: EmbeddedServer) -> None:
        self.embedded = embedded
        self.pid = embedded.pid
        # Database 0 stays free: a test that forgets to ask for a database is easier to see.
        self._numbers = cycle(range(1, DATABASES))

    @property
    def port(self) -> int:
        assert self.embedded.port is not None
        return self.embedded.port

    def clean_database(self) -> str:
        """The URL of a logical database nobody used lately, emptied. Refuses a server we did not start."""
        url = f"redis://127.0.0.1:{self.port}/{next(self._numbers)}"
        with redis.Redis.from_url(url) as client:
            answering = client.info("server")["process_id"]
            assert answering == self.pid, f"port {self.port} belongs to process {answering}, not to ours ({self.pid})"
            client.flushdb()
        return url


def chosen_binary() -> ServerBinary:
    """The server that LEASEFORGE_TEST_SERVER names: `embedded` (default) or `redis` (redis-server on PATH)."""
    wanted = os.environ.get("LEASEFORGE_TEST_SERVER", "embedded")
    names = {"embedded": BUNDLED, "redis": "redis-server"}
    assert wanted in names, f"LEASEFORGE_TEST_SERVER is {wanted!r}, expected one of {sorted(names)}"
    binary = find_binary(names[wanted])
    if binary is None:
        unavailable(f"{names[wanted]} is not installed")
    return binary


def start_server(data_dir: Path) -> OwnServer:
    """Start the session's server."""
    binary = chosen_binary()
    config = {"databases": str(DATABASES), "enable-debug-command": "yes"}
    for attempt in range(5):
        embedded = EmbeddedServer(
            data_dir / f"server-{attempt}", port=free_port(), durable=False, binary=binary, config=config
        )
        try:
            return OwnServer(embedded.start())
        except EmbeddedServerError:  # somebody took the port between our look and the server's bind
            embedded.stop()
            if attempt == 4:
                raise
    raise AssertionError("unreachable")
