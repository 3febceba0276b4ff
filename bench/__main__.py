"""Runs every workload and its floor in turn, prints medians, ratios and goals, and keeps every round as JSON."""

import os
import platform
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from bench.drains import DRAINS
from bench.ends import ENDS
from bench.enqueues import ENQUEUES
from bench.http import HTTP
from bench.latency import LATENCY
from bench.measuring import Figures
from bench.profiling import print_profile
from bench.report import Runs, keep, table
from bench.server import Bench, WorkloadFailed, bench_server
from bench.workload import Side, Workload
from leaseforge.errors import StoreError
from leaseforge.server_binary import BUNDLED, ON_PATH, EmbeddedServerError

RESULTS = Path(__file__).parent / "results"
WORKLOADS = (*ENQUEUES, *HTTP, *DRAINS, *ENDS, *LATENCY)
QUICK_JOBS = 5_000


@click.command()
@click.option("--jobs", type=click.IntRange(20, 1_000_000), help="Jobs a drain; the others scale.  [default: 50000]")
@click.option("--rounds", type=click.IntRange(1, 100), help="Runs of each workload and floor.  [default: 3]")
@click.option(
    "--only", multiple=True, metavar="TEXT", help="Only the workload of this name, or all that contain it; repeatable."
)
@click.option("--quick", is_flag=True, help=f"{QUICK_JOBS:,} jobs and one round, unless said otherwise.")
@click.option(
    "--server", type=click.Choice([BUNDLED, *ON_PATH]), help="Which server program; that of `leaseforge dev`."
)
@click.option(
    "--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS, help="Where JSON is kept."
)
@click.option(
    "--profile", is_flag=True, help="Show where a worker's CPU time goes in a drain, and measure nothing else."
)
def main(
    jobs: int | None,
    rounds: int | None,
    only: tuple[str, ...],
    quick: bool,
    server: str | None,
    results: Path,
    profile: bool,
) -> None:
    """Measure this machine. Exits with 1 if a workload could not be carried out, whatever the figures."""
    jobs = jobs or (QUICK_JOBS if quick else 50_000)
    rounds = rounds or (1 if quick else 3)
    workloads = [work for work in WORKLOADS if not only or any(_means(text, work.name) for text in only)]
    if not workloads:
        raise click.UsageError(f"no workload is called so; there are: {'; '.join(work.name for work in WORKLOADS)}")
    began = time.monotonic()
    try:
        with bench_server(server) as bench:
            load = os.getloadavg()[0]
            click.echo(
                f"{bench.name}, no append-only file; Python {platform.python_version()}, "
                f"{os.cpu_count()} cores, load {load:.1f} before"
            )
            if profile:
                print_profile(bench, jobs, rounds)
                return
            runs = _run_all(bench, workloads, jobs, rounds)
    except (WorkloadFailed, EmbeddedServerError) as error:
        raise click.ClickException(str(error)) from error
    took = time.monotonic() - began
    click.echo("\n".join(table(runs)))
    file = keep(results, runs, server=bench.name, rounds=rounds, seconds=took, load=load)
    click.echo(f"{rounds} rounds in {took:.0f} s; every one: {file}")
    sys.exit(any(run.failures for run in runs.values()))


def _means(text: str, name: str) -> bool:
    """A whole name means one workload, though others may begin with it."""
    return text == name or (text in name and all(text != work.name for work in WORKLOADS))


def _run_all(bench: Bench, workloads: Iterable[Workload], asked: int, rounds: int) -> dict[str, Runs]:
    runs = {work.name: Runs(work.jobs(asked)) for work in workloads}
    try:
        _run_rounds(bench, workloads, runs, rounds)
    except KeyboardInterrupt:
        click.echo("interrupted: what follows is what was measured until then", err=True)
        for run in runs.values():
            if len(run.ours) < rounds:
                run.failures.append("interrupted")
    return runs


def _run_rounds(bench: Bench, workloads: Iterable[Workload], runs: dict[str, Runs], rounds: int) -> None:
    began = time.monotonic()
    for number in range(1, rounds + 1):
        floors: dict[tuple[Side, int], Figures] = {}
        for work in workloads:
            run = runs[work.name]
            click.echo(f"{time.monotonic() - began:4.0f} s: round {number} of {rounds}, {work.name}", err=True)
            try:
                if work.floor is not None:
                    key = (work.floor, run.jobs)
                    if key not in floors:
                        floors[key] = _run(bench, work.floor, run.jobs)
                    floor = floors[key]
                ours = _run(bench, work.ours, run.jobs)
            except (WorkloadFailed, StoreError, OSError) as error:
                run.failures.append(f"round {number}: {error}")
                continue
            run.ours.append(ours)
            if work.floor is not None:
                run.floor.append(floor)


def _run(bench: Bench, side: Side, jobs: int) -> Figures:
    bench.raw.flushall()
    return side(bench, jobs)


if __name__ == "__main__":
    main()
