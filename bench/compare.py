"""Servers side by side, a slice of work each in turn: this checkout and others, with and without coalescing.

`git worktree add ../before HEAD~5; python -m bench.compare before=../before`. Runs of minutes, one after the other,
differ by a fifth on a machine that does other things; slices of a fraction of a second suffer alike, and the quieter
ones of many say what a server can do.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles

import click

from bench.http import OverHttp
from bench.measuring import Figures, Meter
from bench.server import Bench, bench_server
from bench.serving import Connection, Served, serving

EACH = "each"
_JOBS_A_CLIENT = 20


@click.command()
@click.argument("others", nargs=-1, metavar="[NAME=FOLDER]...")
@click.option("--clients", type=click.IntRange(1, 256), multiple=True, default=(1, 8, 64), show_default=True)
@click.option("--slices", type=click.IntRange(4, 1000), default=30, show_default=True, help="Of each server.")
@click.option("--bulk", type=click.IntRange(0, 1000), default=0, help="Jobs a request; 0 is one, not as a bulk.")
@click.option("--log-level", default="warning", show_default=True)
def main(others: tuple[str, ...], clients: tuple[int, ...], slices: int, bulk: int, log_level: str) -> None:
    """Print what each server answers a second, and the CPU time a job, over many short slices."""
    folders = {"this": None} | {name: Path(folder).resolve() for name, _, folder in (o.partition("=") for o in others)}
    click.echo(
        f"{'':22}{'jobs/s: median':>15}{'upper fifth':>13}{'server us: median':>19}{'lower fifth':>13}{'redis us':>10}"
    )
    with bench_server() as bench, _servers(bench, folders, log_level, (True,) if bulk else (True, False)) as servers:
        for count in clients:
            runs = asyncio.run(_run(bench, servers, OverHttp(count, bulk), slices))
            for name, figures in runs.items():
                click.echo(f"{count:>3} clients, {name:10}{_row(figures)}")


@contextmanager
def _servers(
    bench: Bench, folders: Mapping[str, Path | None], log_level: str, ways: Sequence[bool]
) -> Iterator[dict[str, Served]]:
    """A server of each folder that coalesces, or one that makes a call of its own for every request, or both."""
    with ExitStack() as stack:
        yield {
            f"{name}{'' if coalesces else f', {EACH}'}": stack.enter_context(
                serving(bench, coalesces=coalesces, checkout=folder, log_level=log_level)
            )
            for name, folder in folders.items()
            for coalesces in ways
        }


async def _run(
    bench: Bench, servers: Mapping[str, Served], workload: OverHttp, slices: int
) -> dict[str, list[Figures]]:
    jobs = workload.clients * max(1, workload.bulk) * _JOBS_A_CLIENT
    connections = {
        name: [await Connection.open(served) for _ in range(workload.clients)] for name, served in servers.items()
    }
    runs: dict[str, list[Figures]] = {name: [] for name in servers}
    for number in range(slices + 1):
        # Each comes first as often as last.
        for name in sorted(servers, reverse=number % 2 == 1):
            requests = workload.requests(servers[name], jobs)
            meter = Meter(bench, [servers[name].process.pid])
            await workload.from_all(connections[name], requests)
            if number:  # the first one warms up
                runs[name].append(meter.stop(jobs))
    for opened in connections.values():
        for connection in opened:
            connection.close()
    return runs


def _row(figures: Sequence[Figures]) -> str:
    rates = [one["per_second"] for one in figures]
    used = [one["python_us"] for one in figures]
    redis = [one["redis_us"] for one in figures]
    upper, lower = quantiles(rates, n=5)[-1], quantiles(used, n=5)[0]
    return f"{median(rates):>15,.0f}{upper:>13,.0f}{median(used):>19,.0f}{lower:>13,.0f}{median(redis):>10,.0f}"


if __name__ == "__main__":
    main()
