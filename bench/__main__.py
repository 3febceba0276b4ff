"""Runs every workload and its floor in turn, prints medians and ratios, keeps every round as JSON."""

import json
import os
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.server import Bench, Measured, bench_server
from bench.workloads import BULK, WORKLOADS, Workload

RESULTS = Path(__file__).parent / "results"


@click.command()
@click.option("--jobs", type=click.IntRange(BULK, 1_000_000), default=10_000, show_default=True, help="Jobs a run.")
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option(
    "--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS, help="Where JSON is kept."
)
def main(jobs: int, rounds: int, results: Path) -> None:
    """Measure this machine."""
    jobs -= jobs % BULK
    runs: dict[str, dict[str, list[Measured]]] = {work.name: {"ours": [], "floor": []} for work in WORKLOADS}
    with bench_server() as bench:
        click.echo(f"{bench.name}, no append-only file; Python {platform.python_version()}, {os.cpu_count()} cores")
        for number in range(1, rounds + 1):
            click.echo(f"round {number} of {rounds}", err=True)
            for work in WORKLOADS:
                for side in ("floor", "ours"):
                    runs[work.name][side].append(_run(bench, work, side, jobs))
        _print(runs, jobs)
        file = _keep(results, runs, jobs, bench)
    click.echo(f"every round: {file}")


def _run(bench: Bench, work: Workload, side: str, jobs: int) -> Measured:
    bench.raw.flushall()
    return (work.ours if side == "ours" else work.floor)(bench, jobs)


def _print(runs: dict[str, dict[str, list[Measured]]], jobs: int) -> None:
    click.echo(f"\nmedians, {jobs:,} jobs a run")
    click.echo(f"{'':22}{'jobs/s':>10}{'redis us':>10}{'floor/s':>12}{'redis us':>10}{'ratio':>8}")
    for name, sides in runs.items():
        ours, floor = _median(sides["ours"]), _median(sides["floor"])
        click.echo(
            f"{name:22}{ours.per_second:>10,.0f}{ours.redis_us:>10.1f}"
            f"{floor.per_second:>12,.0f}{floor.redis_us:>10.1f}{ours.per_second / floor.per_second:>8.2f}"
        )


def _median(rounds: list[Measured]) -> Measured:
    return Measured(median(run.per_second for run in rounds), median(run.redis_us for run in rounds))


def _keep(results: Path, runs: dict[str, dict[str, list[Measured]]], jobs: int, bench: Bench) -> Path:
    now = datetime.now(UTC)
    record: dict[str, Any] = {
        "at": now.isoformat(timespec="seconds"),
        "jobs": jobs,
        "server": bench.name,
        "leaseforge": version("leaseforge"),
        "redis_py": version("redis"),
        "python": platform.python_version(),
        "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
        "runs": {
            name: {side: [asdict(run) for run in rounds] for side, rounds in sides.items()}
            for name, sides in runs.items()
        },
    }
    results.mkdir(parents=True, exist_ok=True)
    file = results / f"{now:%Y%m%dT%H%M%SZ}.json"
    file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return file


if __name__ == "__main__":
    main()
