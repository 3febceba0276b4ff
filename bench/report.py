"""The tables that are printed, and the JSON that is kept."""

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from bench.goals import judged
from bench.measuring import Figures


@dataclass(slots=True)
class Runs:
    """All rounds of one workload, ours and its floor's, round by round."""

    jobs: int
    ours: list[Figures] = field(default_factory=list)
    floor: list[Figures] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def medians(self) -> Figures:
        """Our medians; `ratio` is the median of the rounds' ratios of ours to its floor.

        `cpu_ratio` is the floor's CPU time a job, the server's and the processes' together, to ours: what the ratio
        would be if nothing else counted. Other programs on the machine disturb it far less.
        """
        figures = _medians(self.ours)
        if ratios := self.ratios():
            figures["ratio"] = median(ratios)
            figures["cpu_ratio"] = _cpu_us(_medians(self.floor)) / _cpu_us(figures)
        return figures

    def ratios(self) -> list[float]:
        """Ours to the floor, round by round."""
        pairs = zip(self.ours, self.floor, strict=False)
        return [ours["per_second"] / floor["per_second"] for ours, floor in pairs if "per_second" in ours]


def _cpu_us(figures: Figures) -> float:
    return figures["redis_us"] + figures["python_us"]


def _medians(rounds: Sequence[Figures]) -> Figures:
    return {name: median(figures[name] for figures in rounds) for name in rounds[0]} if rounds else {}


def table(runs: Mapping[str, Runs]) -> Iterator[str]:
    """The lines of the report."""
    yield f"{'':24}{'ours':>36}    {'floor':>30}"
    yield (
        f"{'':22}{'jobs':>8}{'jobs/s':>9}{'redis':>7}{'cmds':>6}{'python':>8}"
        f"    {'jobs/s':>9}{'redis':>7}{'cmds':>6}{'python':>8}   ratio (least-most)  of CPU"
    )
    for name, run in runs.items():
        if run.ours and run.floor:
            ratios = run.ratios()
            spread = f"{median(ratios):8.2f} ({min(ratios):.2f}-{max(ratios):.2f}){run.medians()['cpu_ratio']:>9.2f}"
            yield f"{name:22}{run.jobs:>8,}{_side(run.ours)}    {_side(run.floor)}{spread}"
    yield "redis, python: CPU us a job of the server, of the processes measured; cmds: commands a job, in scripts too"
    for name, run in runs.items():
        ours, floor = _medians(run.ours), _medians(run.floor)
        if "p50_ms" in ours and floor:
            yield (
                f"{name}: p50 {ours['p50_ms']:.2f} ms, p99 {ours['p99_ms']:.2f} ms, most {ours['max_ms']:.1f} ms; "
                f"floor {floor['p50_ms']:.2f}, {floor['p99_ms']:.2f}, {floor['max_ms']:.1f} ms"
            )
        if "requests_per_second" in ours:
            yield (
                f"{name}: {ours['requests_per_second']:.2f} requests/s; of each second the worker's CPU "
                f"{ours['python_ms_per_second']:.2f} ms, the server's {ours['redis_ms_per_second']:.2f} ms"
            )
        for failure in run.failures:
            yield f"{name}: FAILED: {failure}"
    yield "goals:"
    yield from judged({name: run.medians() for name, run in runs.items()})


def _side(rounds: Sequence[Figures]) -> str:
    mid = _medians(rounds)
    return f"{mid['per_second']:>9,.0f}{mid['redis_us']:>7.1f}{mid['commands']:>6.1f}{mid['python_us']:>8.1f}"


def keep(folder: Path, runs: Mapping[str, Runs], *, server: str, rounds: int, seconds: float, load: float) -> Path:
    """Writes everything down; the file."""
    now = datetime.now(UTC)
    record: dict[str, Any] = {
        "at": now.isoformat(timespec="seconds"),
        "rounds": rounds,
        "seconds": round(seconds, 1),
        "server": server,
        "leaseforge": version("leaseforge"),
        "redis_py": version("redis"),
        "python": platform.python_version(),
        "machine": {"platform": platform.platform(), "cores": os.cpu_count(), "load_before": load},
        "medians": {name: run.medians() for name, run in runs.items()},
        "runs": {
            name: {"jobs": run.jobs, "ours": run.ours, "floor": run.floor, "failures": run.failures}
            for name, run in runs.items()
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{now:%Y%m%dT%H%M%SZ}.json"
    file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return file
