"""`leaseforge dlq`: jobs that failed for good, over the API."""

import uuid

import click

from leaseforge_cli.client import segment
from leaseforge_cli.client_command import api
from leaseforge_cli.client_output import (
    Columns,
    ago,
    confirm,
    for_each,
    json_option,
    limit_option,
    print_json,
    print_page,
    reason_option,
    search_options,
    several,
    yes_option,
)
from leaseforge_cli.jobs import ids_argument, said

COLUMNS: Columns = {
    "id": lambda job: job["id"],
    "queue": lambda job: job["queue"],
    "type": lambda job: job["type"],
    "failures": lambda job: job["failures"],
    "died": lambda job: ago(job["finished_at"]),
    "error": lambda job: said(job),
}
GROUP_COLUMNS: Columns = {
    "group": lambda group: group["key"],
    "queue": lambda group: group["queue"],
    "type": lambda group: group["type"],
    "jobs": lambda group: group["size"],
    "last": lambda group: ago(group["last_at"]),
    "error": lambda group: f"{group['kind']}: {group['message']}",
}
queue_option = click.option("--queue", help="of this queue only")


@click.group()
def dlq() -> None:
    """List, retry and remove jobs that failed for good."""


@dlq.command("list")
@queue_option
@search_options
@limit_option("jobs")
@json_option
def list_dead(limit: int, as_json: bool, **filters: str | None) -> None:
    """List dead jobs, the one that died last first."""
    with api() as client:
        page = client.listed("dlq", limit=limit, **filters)
    print_page(page, COLUMNS, as_json=as_json, noun="dead jobs")


@dlq.command()
@queue_option
@limit_option("groups")
@json_option
def groups(queue: str | None, limit: int, as_json: bool) -> None:
    """List kinds of failure: dead jobs of the same type with the same error."""
    with api() as client:
        page = client.listed("dlq/groups", limit=limit, queue=queue)
    print_page(page, GROUP_COLUMNS, as_json=as_json, noun="groups")


@dlq.command()
@ids_argument
@reason_option
def retry(ids: tuple[str, ...], reason: str | None) -> int:
    """Give dead jobs back to their queues with a fresh budget."""
    body = {} if reason is None else {"reason": reason}
    with api() as client:
        return for_each(
            ids, lambda id_: client.post(f"dlq/{segment(id_)}/retry", body, key=str(uuid.uuid4())), done="is ready"
        )


@dlq.command()
@ids_argument
@reason_option
@yes_option
def delete(ids: tuple[str, ...], reason: str | None, yes: bool) -> int:
    """Remove dead jobs with their history."""
    confirm(f"Remove {several(len(ids), 'dead job')} for good?", yes=yes)
    with api() as client:
        return for_each(ids, lambda id_: client.delete(f"dlq/{segment(id_)}", reason=reason), done="is gone")


@dlq.command()
@queue_option
@reason_option
@yes_option
@json_option
def purge(queue: str | None, reason: str | None, yes: bool, as_json: bool) -> None:
    """Remove the dead jobs of one queue or of all: those that are there when you are asked, none that die later."""
    with api() as client:
        found = client.get("dlq", limit=1, queue=queue)
        place = queue or "all queues"
        confirm(f"Remove {several(found['total'], 'dead job')} of {place} for good?", yes=yes)
        body = {"frozen": found["frozen"]} | ({} if reason is None else {"reason": reason})
        answer = client.post("dlq/purge", body, queue=queue)
    if as_json:
        print_json(answer)
    else:
        click.echo(f"removed {several(answer['removed'], 'job')}")
