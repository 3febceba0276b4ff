"""Worker processes as users start them, with the fault tasks."""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.faults.ledger import Ledger
from tests.support.processes import Process

ROOT = Path(__file__).parents[2]
TASKS = "tests.faults.tasks"
CLI = (sys.executable, "-c", "from leaseforge_cli.main import main; main()")
FAILING = (sys.executable, "-m", "tests.faults.failing_worker")

StartProcess = Callable[..., Process]


class Crew:
    """Starts workers on one server; their handlers write to one ledger."""

    def __init__(self, start: StartProcess, url: str, ledger: Ledger) -> None:
        self._start = start
        self.url = url
        self.ledger = ledger

    def worker(self, *, ready: bool = True, **options: Any) -> Process:
        """One worker; the options are those of `workers`."""
        return self.workers(1, ready=ready, **options)[0]

    def workers(self, count: int, *, ready: bool = True, **options: Any) -> list[Process]:
        """Starts `leaseforge worker` so many times at once, and waits until all work unless told not to.

        Options: `lease_s`, `concurrency`, `drain_s`, `url` (of a proxy, say), `failpoint` (see failing_worker),
        `wrap` (builds the command line that starts the given one); any other is a variable of the environment.
        """
        started = [self._spawn(**options) for _ in range(count)]
        if ready:
            for child in started:
                child.wait_for_output("worker_started", within_s=90)
        return started

    def _spawn(
        self,
        *,
        lease_s: float = 2.0,
        concurrency: int = 8,
        drain_s: float = 5.0,
        url: str | None = None,
        failpoint: str | None = None,
        wrap: Callable[[Sequence[str]], Sequence[str]] = list,
        **env: str,
    ) -> Process:
        settings = {
            "LEASEFORGE_REDIS_URL": url or self.url,
            "LEASEFORGE_LEASE_SECONDS": str(lease_s),
            "LEASEFORGE_WORKER_CONCURRENCY": str(concurrency),
            "LEASEFORGE_DRAIN_SECONDS": str(drain_s),
            "LEASEFORGE_METRICS_ADDR": "127.0.0.1:0",
            **self.ledger.env,
            **env,
        }
        if failpoint is not None:
            settings["FAILPOINT"] = failpoint
        program = CLI if failpoint is None else FAILING
        return self._start(wrap([*program, "worker", TASKS]), cwd=ROOT, env=settings)


def log_lines(child: Process, event: str) -> list[dict[str, Any]]:
    """The worker's log lines of one event."""
    lines = (line for line in child.output().splitlines() if line.startswith("{") and line.endswith("}"))
    return [line for line in map(json.loads, lines) if line.get("event") == event]


def metric(child: Process, name: str) -> float:
    """A figure of a running worker, summed over its labels; 0 while none has been counted."""
    [started] = log_lines(child, "worker_started")
    with urllib.request.urlopen(f"http://{started['metrics']}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    values = [
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith(name) and line[len(name) : len(name) + 1] in ("{", " ")
    ]
    assert f"# TYPE {name} " in text, f"{name} is not in:\n{text}"
    return sum(values)


def probe(child: Process, path: str) -> int:
    """The status that a running worker answers a probe with: /livez, /health or /ready."""
    [started] = log_lines(child, "worker_started")
    try:
        with urllib.request.urlopen(f"http://{started['metrics']}{path}", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code
