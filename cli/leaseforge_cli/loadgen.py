"""`leaseforge loadgen`: a steady load of demo jobs over the API, and whether it was taken at the rate asked for."""

import sys
from typing import Any

import click

from leaseforge.settings import seconds
from leaseforge_cli.client_command import door
from leaseforge_cli.client_output import json_option, print_fields, print_json
from leaseforge_cli.exits import CommandFailed, ExitCode
from leaseforge_cli.loadgen_mix import KINDS, Mix
from leaseforge_cli.loadgen_run import HELD_WITHIN, Load, Run, Tally
from leaseforge_cli.options import Parsed

WEIGHT = click.IntRange(0, 1_000_000)
DURATION = Parsed(seconds(0.1, 86_400))


@click.command()
@click.option("-rate", "--rate", type=click.FloatRange(0.1, 10_000), default=50.0, show_default=True, help="jobs/s")
@click.option(
    "-concurrency",
    "--concurrency",
    type=click.IntRange(1, 256),
    default=8,
    show_default=True,
    help="requests under way at a time",
)
@click.option("-duration", "--duration", type=DURATION, default="30s", show_default=True, help="30s, 5m, 1h")
@click.option("-echo", "--echo", type=WEIGHT, default=60, show_default=True, help="weight of jobs that do nothing")
@click.option("-sleep", "--sleep", type=WEIGHT, default=20, show_default=True, help="weight of jobs that take time")
@click.option("-fail", "--fail", type=WEIGHT, default=12, show_default=True, help="weight of jobs that fail")
@click.option("-delay", "--delay", type=WEIGHT, default=8, show_default=True, help="weight of jobs due in 1 to 30 s")
@click.option(
    "-sleep-max-ms",
    "--sleep-max-ms",
    type=click.IntRange(0, 3_600_000),
    default=4000,
    show_default=True,
    help="the longest a sleep takes",
)
@click.option(
    "-tries",
    "--tries",
    type=click.IntRange(1, 20),
    default=8,
    show_default=True,
    help="how often a request is sent, at most, while no answer comes or the server is not available",
)
@click.option("-queue", "--queue", default="default", show_default=True, help="the queue")
@click.option("-seed", "--seed", type=int, help="makes the order of the kinds repeatable with one sender")
@json_option
def loadgen(
    rate: float,
    concurrency: int,
    duration: float,
    sleep_max_ms: int,
    tries: int,
    queue: str,
    seed: int | None,
    as_json: bool,
    **weights: int,
) -> int:
    """Enqueue demo jobs at a steady rate and say how that went.

    A worker with the demo tasks runs them (leaseforge worker --demo). Each job has its moment; the rate is held if the
    jobs went out at it within 2 %. Latencies count from a job's moment to its answer. A request that is sent again has
    the same idempotency key, so its job is stored once. Exit status 0 means that the rate was held and nothing failed,
    15 that it was not held, 1 that requests failed. Interrupted, it waits for the answers still to come.
    """
    if not any(weights.values()):
        raise click.UsageError(f"one of the weights must be above 0: {', '.join(KINDS)}")
    load = Load(rate, duration, concurrency)
    run = Run(load, Mix(weights, queue, sleep_max_ms), door(), seed=seed, tries=tries)
    try:
        for tally in run.carry_out():
            _show_progress(load, tally)
        _end_progress()
    except KeyboardInterrupt:
        run.stop()
        _end_progress()
        _show(load, run.tally, as_json=as_json)
        raise
    _show(load, run.tally, as_json=as_json)
    return _verdict(load, run.tally)


def is_held(load: Load, tally: Tally) -> bool:
    """Whether all jobs went out, at the rate asked for."""
    return tally.sent == load.jobs and tally.achieved() >= load.rate * (1 - HELD_WITHIN)


def _verdict(load: Load, tally: Tally) -> int:
    failed = sum(tally.errors.values())
    if failed:
        raise CommandFailed(f"{failed:,} of {tally.sent:,} requests failed, the first with: {tally.first_error}")
    if not is_held(load, tally):
        raise CommandFailed(f"{load.rate:g} jobs/s were not held", ExitCode.RATE_NOT_HELD)
    return ExitCode.OK


def _show_progress(load: Load, tally: Tally) -> None:
    if sys.stderr.isatty():
        stored, failed = sum(tally.accepted.values()), sum(tally.errors.values())
        line = (
            f"{stored:,} of {load.jobs:,} stored, {failed:,} failed, {tally.achieved():.1f}/s, "
            f"p99 {tally.percentile(0.99) * 1000:.0f} ms"
        )
        click.echo(f"\r{line:<78}", nl=False, err=True)


def _end_progress() -> None:
    if sys.stderr.isatty():
        click.echo("", err=True)


def _show(load: Load, tally: Tally, *, as_json: bool) -> None:
    summary = _summary(load, tally)
    if as_json:
        print_json(summary)
        return
    latency = summary["latency_ms"]
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(tally.accepted.items()))
    held = "held" if summary["held"] else "not held"
    print_fields(
        {
            "rate": f"{summary['achieved_rate']:.2f}/s of {load.rate:g}/s asked, {held}",
            "requests": f"{tally.sent:,} of {load.jobs:,}",
            "stored": f"{summary['stored']:,} ({kinds})" if tally.accepted else "0",
            "repeated": f"{tally.repeated:,}",
            "latency": ", ".join(f"{name} {value:.1f} ms" for name, value in latency.items()),
            "errors": ", ".join(f"{kind}: {count:,}" for kind, count in tally.errors.most_common()) or "none",
            "ids": ", ".join(tally.sample),
        }
    )


def _summary(load: Load, tally: Tally) -> dict[str, Any]:
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    latency = {name: round(tally.percentile(share) * 1000, 2) for name, share in shares.items()}
    return {
        "asked_rate": load.rate,
        "achieved_rate": round(tally.achieved(), 3),
        "held": is_held(load, tally),
        "requests": tally.sent,
        "stored": sum(tally.accepted.values()),
        "stored_by_kind": dict(tally.accepted),
        "repeated": tally.repeated,
        "latency_ms": latency | {"max": round(tally.max_s * 1000, 2)},
        "errors": dict(tally.errors),
        "ids": tally.sample,
    }
