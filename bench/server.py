"""The server the benchmarks run on, started for them alone."""

import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from leaseforge.embedded import EmbeddedServer
from leaseforge.server_binary import choose_binary


@dataclass(frozen=True, slots=True)
class Bench:
    """A running server: its URL, a raw client for floors and readings, and what it is."""

    url: str
    raw: redis.Redis
    name: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run of one workload took: jobs a second, and the server's CPU time a job in us."""

    per_second: float
    redis_us: float


@contextmanager
def bench_server() -> Iterator[Bench]:
    """A server on a loopback port that keeps nothing."""
    with tempfile.TemporaryDirectory(prefix="leaseforge-bench-") as folder:
        data = Path(folder)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        binary = choose_binary(data)
        with EmbeddedServer(data, port=port, durable=False, binary=binary) as server:
            raw = redis.Redis.from_url(server.url)
            try:
                yield Bench(server.url, raw, str(binary))
            finally:
                raw.close()


class Stopwatch:
    """Takes the time and the server's CPU time from its making to `measured`."""

    def __init__(self, raw: redis.Redis) -> None:
        self._raw = raw
        self._cpu = _server_cpu_s(raw)
        self._started = time.perf_counter()

    def measured(self, jobs: int) -> Measured:
        """The rate so far."""
        took = time.perf_counter() - self._started
        return Measured(jobs / took, (_server_cpu_s(self._raw) - self._cpu) / jobs * 1e6)


def _server_cpu_s(raw: redis.Redis) -> float:
    used = raw.info("cpu")
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])
