"""`leaseforge queues`: looking at queues, stopping and emptying them, over the API."""

from typing import Any

import click

from leaseforge_cli.client import ApiClient, segment
from leaseforge_cli.client_command import api
from leaseforge_cli.client_output import (
    Columns,
    confirm,
    duration,
    json_option,
    limit_option,
    print_fields,
    print_json,
    print_page,
    reason_option,
    several,
    yes_option,
)

COUNTS = ("ready", "running", "scheduled", "retrying", "completed", "cancelled", "dead")
COLUMNS: Columns = {
    "queue": lambda queue: queue["name"],
    "paused": lambda queue: queue["paused"],
    "ready": lambda queue: queue["counts"]["ready"],
    "running": lambda queue: queue["counts"]["running"],
    "scheduled": lambda queue: queue["counts"]["scheduled"],
    "retrying": lambda queue: queue["counts"]["retrying"],
    "dead": lambda queue: queue["counts"]["dead"],
    "oldest": lambda queue: duration(queue["oldest_ready_seconds"]),
    "per second": lambda queue: rates(queue),
}
name_argument = click.argument("name")


@click.group()
def queues() -> None:
    """List, show, pause, resume and purge queues."""


@queues.command("list")
@limit_option("queues")
@json_option
def list_queues(limit: int, as_json: bool) -> None:
    """List all queues by name."""
    with api() as client:
        page = client.listed("queues", limit=limit)
    print_page(page, COLUMNS, as_json=as_json, noun="queues")


@queues.command()
@name_argument
@json_option
def show(name: str, as_json: bool) -> None:
    """Show a queue: how many jobs are in which state, its limits and its totals."""
    with api() as client:
        _show(client.get(f"queues/{segment(name)}"), as_json=as_json)


@queues.command()
@name_argument
@reason_option
@json_option
def pause(name: str, reason: str | None, as_json: bool) -> None:
    """Stop claims from a queue; what runs goes on."""
    _act(name, "pause", reason, as_json=as_json)


@queues.command()
@name_argument
@reason_option
@json_option
def resume(name: str, reason: str | None, as_json: bool) -> None:
    """Allow claims from a queue again."""
    _act(name, "resume", reason, as_json=as_json)


@queues.command()
@name_argument
@reason_option
@yes_option
@json_option
def purge(name: str, reason: str | None, yes: bool, as_json: bool) -> None:
    """Remove the ready jobs of a queue: those that are there when you are asked, none that come later."""
    with api() as client:
        queue = client.get(f"queues/{segment(name)}")
        confirm(f"Remove {several(queue['counts']['ready'], 'ready job')} of {queue['name']} for good?", yes=yes)
        answer = _post(client, name, "purge", reason, frozen=queue["frozen"])
    if as_json:
        print_json(answer)
    else:
        click.echo(f"removed {several(answer['removed'], 'job')}")


def rates(queue: Any) -> str:
    """Jobs in and out a second, over the last minute."""
    rate = queue["rate"]
    return f"{rate['enqueued']:.1f} in, {rate['completed']:.1f} out"


def _act(name: str, verb: str, reason: str | None, *, as_json: bool) -> None:
    with api() as client:
        queue = _post(client, name, verb, reason)
    if as_json:
        print_json(queue)
    else:
        click.echo(f"{queue['name']} is {'paused' if queue['paused'] else 'not paused'}")


def _post(client: ApiClient, name: str, verb: str, reason: str | None, **fields: Any) -> Any:
    return client.post(f"queues/{segment(name)}/{verb}", fields if reason is None else fields | {"reason": reason})


def _show(queue: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(queue)
        return
    limits = {name: value for name, value in queue["limits"].items() if value is not None}
    print_fields(
        {"queue": queue["name"], "paused": queue["paused"]}
        | {state: queue["counts"].get(state, 0) for state in COUNTS}
        | {"oldest ready": duration(queue["oldest_ready_seconds"]), "per second": rates(queue)}
        | limits
        | {f"{name} so far": total for name, total in queue["totals"].items()}
    )
