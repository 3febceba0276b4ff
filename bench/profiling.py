"""Where a worker process's CPU time goes while it drains, by part and by function."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

import click

from bench.filling import account, fill
from bench.measuring import Figures, Meter, until
from bench.processes import workers
from bench.sampler import Place
from bench.server import QUEUE, Bench
from leaseforge import Client, JobState

Stacks = list[tuple[list[Place], int]]
_ROWS = 25
_OURS = ("leaseforge", "leaseforge_worker", "bench")
_OUTERMOST = frozenset({"leaseforge_worker.run", "bench.sampler"})
"""On every stack: they run the event loop, and cause nothing else."""


def print_profile(bench: Bench, jobs: int, rounds: int) -> None:
    """Drains `jobs` with one worker process at default settings, and prints what its CPU time went to in all rounds."""
    stacks: Stacks = []
    runs = []
    for number in range(rounds):
        bench.raw.flushall()
        runs.append(_sampled(bench, jobs, bench.folder / f"samples-{number}.json", stacks))
    _print(stacks, {name: median(figures[name] for figures in runs) for name in runs[0]})


def _sampled(bench: Bench, jobs: int, file: Path, stacks: Stacks) -> Figures:
    fill(bench, "nothing", jobs, paused=True)
    with Client(bench.url) as client, workers(bench, sampled=str(file)) as children:
        [pid] = children.pids
        os.kill(pid, signal.SIGUSR1)
        meter = Meter(bench, children.pids)
        client.resume(QUEUE)
        until(lambda: bench.ended(JobState.COMPLETED), jobs, what="jobs are completed", check=children.check)
        figures = meter.stop(jobs)
        os.kill(pid, signal.SIGUSR2)
        until(lambda: int(file.exists()), 1, what="samples are written", check=children.check)
    account(bench, jobs)
    stacks += json.loads(file.read_text(encoding="utf-8"))
    return figures


def _print(stacks: Stacks, figures: Figures) -> None:
    samples = sum(count for _, count in stacks)
    click.echo(
        f"{figures['per_second']:,.0f} jobs/s; worker {figures['python_us']:.1f} us of CPU a job "
        f"({figures['python_us'] * figures['per_second'] / 1e4:.0f} % of a core), server {figures['redis_us']:.1f} us; "
        f"{samples} samples"
    )
    us = figures["python_us"] / max(1, samples)
    _table("by part, with all that it calls in libraries", _counted(stacks, _part), us)
    _table("by library or module, the innermost one alone", _counted(stacks, lambda s: _module(s[0][0])), us)
    _table("by function, itself alone", _counted(stacks, lambda s: f"{_module(s[0][0])}: {s[0][1]}"), us)


def _table(title: str, rows: Counter[str], us: float) -> None:
    total = rows.total()
    click.echo(f"\n{title}\n{'us a job':>10}{'share':>8}")
    for name, count in rows.most_common(_ROWS):
        click.echo(f"{count * us:>10.2f}{count / total:>8.1%}  {name}")


def _counted(stacks: Stacks, name: Callable[[list[Place]], str]) -> Counter[str]:
    rows: Counter[str] = Counter()
    for stack, count in stacks:
        rows[name(stack)] += count
    return rows


def _part(stack: Iterable[Place]) -> str:
    """The innermost module of ours on the stack: it is why the time was spent."""
    modules = (_module(file) for file, _ in stack)
    causes = (module for module in modules if module.split(".")[0] in _OURS and module not in _OUTERMOST)
    return next(causes, "the event loop itself")


def _module(file: str) -> str:
    """A readable name of the module in a file: ours in full, others by package."""
    path = Path(file).with_suffix("")
    parts = path.parts
    for package in _OURS:
        if package in parts:
            at = len(parts) - 1 - parts[::-1].index(package)
            return ".".join(parts[at:])
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1]
    return parts[-2] if parts[-2:-1] and not parts[-2].startswith("python") else parts[-1]
