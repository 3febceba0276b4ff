"""The engine with two million jobs on a server of its own: `python -m tests.scale [embedded|redis] [small]`.

Prints a table and keeps it in bench/results/scale-<server>.json. Takes some minutes and about 2 GiB.
"""

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import redis

from leaseforge.store import connect_sync
from tests.scale.scenario import SMALL, Scenario, Size
from tests.scale.watching import HEADING, Watch, Watched, as_json
from tests.support.cluster import server_binary, start_low

RESULTS = Path(__file__).parents[2] / "bench" / "results"


def measure(server: str, size: Size, *, results: Path = RESULTS) -> list[Watched]:
    """Runs the scenario on a fresh server and keeps what was measured."""
    binary = server_binary(server)
    with tempfile.TemporaryDirectory(prefix="leaseforge-scale-") as folder:
        own = start_low(Path(folder), binary)
        try:
            assert own.port is not None
            with redis.Redis(port=own.port) as raw, connect_sync(own.url, retry_s=60) as store:
                print(f"{binary}\n{HEADING}", flush=True)
                rows = Scenario(store, raw, Watch(raw, own.port), size).run()
        finally:
            own.stop()
    results.mkdir(parents=True, exist_ok=True)
    measured = {
        "server": str(binary),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "load": os.getloadavg(),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "ready": size.ready,
        "dead": size.dead,
        "rows": as_json(rows),
    }
    (results / f"scale-{server}.json").write_text(json.dumps(measured, indent=1), "utf-8")
    return rows


def main(words: Sequence[str]) -> None:
    servers = [word for word in words if word in ("embedded", "redis")] or ["embedded"]
    for server in servers:
        measure(server, SMALL if "small" in words else Size())


if __name__ == "__main__":
    main(sys.argv[1:])
