"""`leaseforge jobs`: looking at jobs and deciding about them, over the API."""

import uuid
from typing import Any

import click

from leaseforge.jobs import JobState
from leaseforge_cli.client import segment
from leaseforge_cli.client_command import api
from leaseforge_cli.client_output import (
    Columns,
    ago,
    confirm,
    for_each,
    json_option,
    limit_option,
    print_fields,
    print_json,
    print_page,
    print_table,
    reason_option,
    search_options,
    several,
    yes_option,
)

COLUMNS: Columns = {
    "id": lambda job: job["id"],
    "queue": lambda job: job["queue"],
    "type": lambda job: job["type"],
    "status": lambda job: job["status"],
    "attempts": lambda job: job["attempts"],
    "created": lambda job: ago(job["created_at"]),
    "error": lambda job: said(job),
}
ids_argument = click.argument("ids", nargs=-1, required=True, metavar="ID...")


@click.group()
def jobs() -> None:
    """List, show, retry, requeue, cancel and delete jobs."""


@jobs.command("list")
@click.option("--queue", help="of this queue only")
@click.option(
    "--state",
    type=click.Choice([state.value for state in JobState]),
    multiple=True,
    help="in this state; may be given several times",
)
@search_options
@limit_option("jobs")
@json_option
def list_jobs(limit: int, as_json: bool, **filters: Any) -> None:
    """List jobs: running ones, then those that wait in the order they come, then ended ones, the newest first."""
    with api() as client:
        page = client.listed("jobs", limit=limit, **filters)
    print_page(page, COLUMNS, as_json=as_json, noun="jobs")


@jobs.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> None:
    """Show a job with its payload, result and failed attempts."""
    with api() as client:
        job = client.get(f"jobs/{segment(id)}")
    if as_json:
        print_json(job)
        return
    history = job.pop("history", [])
    zero = ("failures", "recoveries", "replays", "releases", "cancel_requested", "payload_masked")
    print_fields({name: None if name in zero and not value else value for name, value in job.items()})
    if history:
        click.echo("")
        print_table(history, ATTEMPT_COLUMNS)


ATTEMPT_COLUMNS: Columns = {
    "attempt": lambda attempt: attempt["number"],
    "outcome": lambda attempt: attempt["outcome"],
    "worker": lambda attempt: attempt["worker"],
    "ended": lambda attempt: ago(attempt["ended_at"]),
    "error": lambda attempt: said(attempt),
}


@jobs.command()
@ids_argument
@reason_option
def retry(ids: tuple[str, ...], reason: str | None) -> int:
    """Give dead jobs back to their queues with a fresh budget."""
    return _act(ids, "retry", reason, done="is ready")


@jobs.command()
@ids_argument
@reason_option
def requeue(ids: tuple[str, ...], reason: str | None) -> int:
    """Run completed, cancelled or dead jobs once more; their results are cleared."""
    return _act(ids, "requeue", reason, done="is ready")


@jobs.command()
@ids_argument
@reason_option
@yes_option
def cancel(ids: tuple[str, ...], reason: str | None, yes: bool) -> int:
    """Cancel jobs: those that wait at once, running ones are asked to stop."""
    confirm(f"Cancel {several(len(ids), 'job')}?", yes=yes)
    return _act(ids, "cancel", reason, done="is cancelled, or was told to stop")


@jobs.command()
@ids_argument
@reason_option
@yes_option
def delete(ids: tuple[str, ...], reason: str | None, yes: bool) -> int:
    """Remove jobs that are not running, with their history."""
    confirm(f"Remove {several(len(ids), 'job')} for good?", yes=yes)
    with api() as client:
        return for_each(ids, lambda id_: client.delete(f"jobs/{segment(id_)}", reason=reason), done="is gone")


@jobs.command()
@click.argument("id")
@limit_option("lines")
@json_option
def log(id: str, limit: int, as_json: bool) -> None:
    """Print what a job's attempts logged, oldest first."""
    with api() as client:
        page = client.listed(f"jobs/{segment(id)}/log", limit=limit)
    print_page(page, LOG_COLUMNS, as_json=as_json, noun="lines")


LOG_COLUMNS: Columns = {
    "at": lambda line: line["at"],
    "line": lambda line: line["text"],
}


def said(item: Any) -> str:
    """The error of a job or an attempt as one text, '' if it has none."""
    error = item["error"]
    return f"{error['kind']}: {error['message']}" if error else ""


def _act(ids: tuple[str, ...], verb: str, reason: str | None, *, done: str) -> int:
    body = {} if reason is None else {"reason": reason}
    with api() as client:
        return for_each(
            ids, lambda id_: client.post(f"jobs/{segment(id_)}/{verb}", body, key=str(uuid.uuid4())), done=done
        )
