"""The server the benchmarks run on, started for them alone."""

import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from leaseforge.embedded import EmbeddedServer
from leaseforge.keys import queue_key
from leaseforge.server_binary import choose_binary, find_binary

QUEUE = "bench"


class WorkloadFailed(Exception):
    """A workload could not be carried out: the message says what was lost, left over or dead."""


@dataclass(slots=True)
class Bench:
    """A running server: its URL, a raw client for floors and readings, what it is, and a folder for logs."""

    url: str
    raw: redis.Redis
    name: str
    folder: Path
    looks: int = field(default=0)
    """How often `ended` asked the server: commands of ours that no job caused."""

    def ended(self, state: str) -> int:
        """How many jobs of the queue ever came to `state`: one HGET, the cheapest look there is."""
        self.looks += 1
        total: Any = self.raw.hget(queue_key(QUEUE, "counts"), state)
        return int(total or 0)


@contextmanager
def bench_server(program: str | None = None) -> Iterator[Bench]:
    """A server on a loopback port that keeps nothing: `program`, or the one `leaseforge dev` would choose."""
    with tempfile.TemporaryDirectory(prefix="leaseforge-bench-") as name:
        data = Path(name)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        binary = choose_binary(data) if program is None else find_binary(program)
        if binary is None:
            raise WorkloadFailed(f"there is no {program} on this machine")
        with EmbeddedServer(data, port=port, durable=False, binary=binary) as server:
            raw = redis.Redis.from_url(server.url)
            try:
                yield Bench(server.url, raw, str(binary), data)
            finally:
                raw.close()
