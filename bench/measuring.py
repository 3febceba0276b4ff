"""What is measured while a workload runs: time, and the CPU and commands it took on either side."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.server import Bench, WorkloadFailed

Figures = dict[str, float]
"""What one run took, by name: `per_second`, and for each job `redis_us`, `commands`, `scripts`, `python_us`."""

LOOK_EVERY_S = 0.02
STILL_FOR_S = 60.0


class Meter:
    """Measures from its making to `stop`.

    `python_us` is the CPU time of the processes given (of this one if none is), a job; `commands` are all the server
    carried out, those inside scripts too, and `scripts` the calls of scripts: the round trips.
    """

    def __init__(self, bench: Bench, pids: Sequence[int] = ()) -> None:
        self._bench = bench
        self._pids = pids
        self._looks = bench.looks
        self._server = _server(bench)
        self._python = self._python_cpu_s()
        self._started = time.perf_counter()

    def stop(self, jobs: int) -> Figures:
        """The figures so far, for so many jobs."""
        took = time.perf_counter() - self._started
        python = self._python_cpu_s() - self._python
        server = _server(self._bench)
        used = {name: value - self._server[name] for name, value in server.items()}
        # One INFO of the first reading, two INFO calls of the second, and the looks are nobody's jobs.
        commands = used["commands"] - (self._bench.looks - self._looks) - 2
        return {
            "seconds": took,
            "per_second": jobs / took,
            "redis_us": used["cpu_s"] / jobs * 1e6,
            "commands": commands / jobs,
            "scripts": used["scripts"] / jobs,
            "python_us": python / jobs * 1e6,
        }

    def _python_cpu_s(self) -> float:
        return sum(map(cpu_s, self._pids)) if self._pids else time.process_time()


def cpu_s(pid: int) -> float:
    """The CPU time another process has used so far. Linux only: the id of its CPU clock is made from its pid there."""
    return time.clock_gettime((~pid << 3) | 2)


def _server(bench: Bench) -> dict[str, float]:
    cpu: Any = bench.raw.info("cpu")
    calls: Any = bench.raw.info("commandstats")
    return {
        "cpu_s": float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"]),
        "commands": sum(float(entry["calls"]) for entry in calls.values()),
        "scripts": sum(float(calls.get(f"cmdstat_{name}", {"calls": 0})["calls"]) for name in ("evalsha", "eval")),
    }


def until(reached: Callable[[], int], goal: int, *, what: str, check: Callable[[], None] = lambda: None) -> None:
    """Looks every 20 ms until it is `goal`. Raises WorkloadFailed if nothing moves for a minute, or `check` does."""
    seen, since = -1, time.monotonic()
    while (now := reached()) < goal:
        if now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > STILL_FOR_S:
            raise WorkloadFailed(f"{now:,} of {goal:,} {what}, and nothing has moved for {STILL_FOR_S:g} s")
        check()
        time.sleep(LOOK_EVERY_S)
