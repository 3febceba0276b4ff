"""What a server was like while something went on: slow scripts, and how long a PING took beside it."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

SLOWER_THAN_US = 1000
_PINGER = """
import json, select, socket, sys, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
took = []
print("pinging", flush=True)
while not took or not select.select([sys.stdin], [], [], 0.002)[0]:
    started = time.perf_counter()
    connection.sendall(b"PING\\r\\n")
    connection.recv(64)
    took.append((time.perf_counter() - started) * 1000)
took.sort()
at = lambda share: took[min(len(took) - 1, int(len(took) * share))]
print(json.dumps({"count": len(took), "p50": at(0.5), "p99": at(0.99), "longest": took[-1]}))
"""


@dataclass(slots=True)
class Watched:
    """One thing that went on. Times are ms: of scripts in the server, and of a client's wait.

    The client waits for a PING beside it, or, where it is a read, for the read itself. `slow` counts
    scripts over 20 ms. On a busy machine a long one may only have been interrupted: `cpu`, the server's
    own processor time a script (and its share of the PINGs), does not depend on that.
    """

    name: str
    seconds: float = 0.0
    calls: int = 0
    cpu: float = 0.0
    p99: float = 0.0
    longest: float = 0.0
    slow: int = 0
    wait_p50: float = 0.0
    wait_p99: float = 0.0
    wait_longest: float = 0.0

    def row(self) -> str:
        return (
            f"{self.name:42} {self.seconds:7.1f} {self.calls:6} {self.cpu:7.2f} {self.p99:7.1f} {self.longest:7.1f} "
            f"{self.slow:4} {self.wait_p50:7.2f} {self.wait_p99:7.1f} {self.wait_longest:7.1f}"
        )


HEADING = (
    f"{'ms':42} {'seconds':>7} {'calls':>6} {'cpu':>7} {'p99':>7} {'longest':>7} {'>20':>4} "
    f"{'wait 50':>7} {'p99':>7} {'longest':>7}"
)


class Watch:
    """Watches one server through a plain client; `rows` is what was seen."""

    def __init__(self, raw: Any, port: int) -> None:
        self.raw = raw
        self.port = port
        self.rows: list[Watched] = []
        self._cpu = 0.0
        raw.config_set("slowlog-log-slower-than", SLOWER_THAN_US)
        raw.config_set("slowlog-max-len", 100_000)

    @contextmanager
    def during(self, name: str) -> Iterator[Watched]:
        """Pings beside what the block does, and reads the server's slow log afterwards."""
        seen = Watched(name)
        pinger = subprocess.Popen(
            [sys.executable, "-c", _PINGER, str(self.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert pinger.stdout is not None
        pinger.stdout.readline()
        self._begin()
        started = time.monotonic()
        try:
            yield seen
        finally:
            seen.seconds = time.monotonic() - started
            pings = json.loads(pinger.communicate("stop\n")[0])
        seen.wait_p50, seen.wait_p99, seen.wait_longest = pings["p50"], pings["p99"], pings["longest"]
        self._end(seen)

    def timed(self, name: str, ask: Callable[[], Any], *, times: int = 40) -> None:
        """A read, asked some times; the client's wait has its own work in it."""
        seen = Watched(f"read: {name}")
        ask()
        self._begin()
        took = []
        for _ in range(times):
            started = time.perf_counter()
            ask()
            took.append((time.perf_counter() - started) * 1000)
        seen.seconds = sum(took) / 1000
        seen.wait_p50, seen.wait_p99, seen.wait_longest = share(took, 0.5), share(took, 0.99), max(took)
        self._end(seen)

    def _begin(self) -> None:
        self._cpu = self._cpu_ms()
        self.raw.config_resetstat()
        self.raw.slowlog_reset()

    def _end(self, seen: Watched) -> None:
        stats = self.raw.info("commandstats")
        scripts = [stats[name] for name in ("cmdstat_evalsha", "cmdstat_eval") if name in stats]
        seen.calls = sum(entry["calls"] for entry in scripts)
        seen.cpu = (self._cpu_ms() - self._cpu) / max(1, seen.calls)
        slow = [
            entry["duration"] / 1000
            for entry in self.raw.slowlog_get(100_000)
            if entry["command"].upper().startswith((b"EVALSHA", b"EVAL"))
        ]
        # Those that took less than the log keeps are 0 here.
        durations = [0.0] * (seen.calls - len(slow)) + slow
        seen.p99, seen.longest = share(durations or [0.0], 0.99), max(durations, default=0.0)
        seen.slow = sum(took > 20 for took in durations)
        self.rows.append(seen)
        print(seen.row(), flush=True)

    def _cpu_ms(self) -> float:
        used = self.raw.info("cpu")
        return float(used["used_cpu_user"] + used["used_cpu_sys"]) * 1000


def share(values: Sequence[float], part: float) -> float:
    """What `part` of the values are not above, more or less."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
