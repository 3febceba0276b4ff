"""A million jobs on a server of its own, measured: `python -m tests.scale engine|lists|pages|retry [embedded|redis]`.

`engine`: every script over two million jobs of one queue. `lists`: every list of the API, page after page. `pages`:
every page of the console, also in Chromium (`--queues 200 --workers 500`). `retry`: a bulk retry of 100,000 jobs while
they are used, and while its server is killed. Each prints a table and keeps it in bench/results. They take some minutes
and 1 to 2 GiB; `small` goes through with thousands. `--url redis://...` takes a server that is there, and fills it if
it is empty; `--only TEXT` leaves out what does not have the text in its name.
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import redis

from leaseforge.store import connect_sync
from tests.scale import lists, pages, retrying
from tests.scale.populating import Population
from tests.scale.scenario import SMALL, Scenario, Size
from tests.scale.stage import staged
from tests.scale.watching import HEADING, Watch, Watched
from tests.support.cluster import server_binary, start_low

RESULTS = Path(__file__).parents[2] / "bench" / "results"
FEW = Population(jobs=2000, queues=4, workers=3, running=5, groups=7)


def measure(server: str, size: Size, *, results: Path = RESULTS) -> list[Watched]:
    """Runs the scenario of the engine on a fresh server and keeps what was measured."""
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
    keep(f"scale-{server}", results, {"ready": size.ready, "dead": size.dead}, rows)
    return rows


def measure_lists(
    server: str,
    population: Population,
    *,
    url: str | None = None,
    only: Sequence[str] = (),
    depth: int = lists.PAGES,
    repeats: int = lists.REPEATS,
    results: Path = RESULTS,
) -> list[lists.Seen]:
    """Walks through the API's lists on a filled server and keeps what was measured."""
    with staged(server, population, url=url) as stage:
        rows = lists.measure(stage, population, only=only, pages=depth, repeats=repeats)
    keep(f"scale-lists-{server}", results, {"jobs": population.jobs, "queues": population.queues}, rows)
    return rows


def measure_pages(
    server: str, population: Population, *, url: str | None = None, only: Sequence[str] = (), results: Path = RESULTS
) -> list[pages.Seen]:
    """Opens the console's pages on a filled server and keeps what was measured."""
    with staged(server, population, url=url) as stage:
        rows = pages.measure(stage, population, only=only)
    what = {"jobs": population.jobs, "queues": population.queues, "workers": population.workers}
    keep(f"scale-pages-{server}", results, what, rows)
    return rows


def measure_retry(
    server: str, size: retrying.Size, *, url: str | None = None, results: Path = RESULTS
) -> list[retrying.Stretch]:
    """Retries 100,000 jobs under use, twice, and keeps what was measured."""
    with staged(server, size.population(), url=url) as stage:
        rows = retrying.measure(stage, size)
    keep(f"scale-retry-{server}", results, {"jobs": size.jobs, "rate": size.rate}, rows)
    return rows


def keep(name: str, results: Path, what: dict[str, Any], rows: Sequence[Any]) -> None:
    """Writes a table with where and when it was measured."""
    results.mkdir(parents=True, exist_ok=True)
    measured = {
        "python": platform.python_version(),
        "machine": platform.platform(),
        "load": os.getloadavg(),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **what,
        "rows": [asdict(row) for row in rows],
    }
    (results / f"{name}.json").write_text(json.dumps(measured, indent=1), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=__doc__)
    parser.add_argument("what", choices=("engine", "lists", "pages", "retry"))
    parser.add_argument("server", nargs="?", choices=("embedded", "redis"), default="embedded")
    parser.add_argument("small", nargs="?", choices=("small",))
    parser.add_argument("--url")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT")
    parser.add_argument("--pages", type=int, default=lists.PAGES, help="how far a list is walked through")
    parser.add_argument("--rate", type=int, default=10_000, help="jobs a second a bulk retry may take")
    parser.add_argument("--queues", type=int, default=20)
    parser.add_argument("--workers", type=int, default=20)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends, too
    if asked.what == "engine":
        measure(asked.server, SMALL if asked.small else Size())
    elif asked.what == "retry":
        measure_retry(asked.server, retrying.SMALL if asked.small else retrying.Size(rate=asked.rate), url=asked.url)
    else:
        population = FEW if asked.small else Population(queues=asked.queues, workers=asked.workers)
        if asked.what == "pages":
            measure_pages(asked.server, population, url=asked.url, only=asked.only)
            return
        measure_lists(asked.server, population, url=asked.url, only=asked.only, depth=asked.pages)


if __name__ == "__main__":
    main()
