"""Reads what a list of jobs is asked for from its address; empty fields of its form count as not filled in."""

from typing import Annotated

from litestar.params import FromQuery, QueryParameter

from leaseforge.errors import BadInput, FieldProblem
from leaseforge_console.views.asked import Asked


async def asked_jobs(
    queue: FromQuery[str] = "",
    in_state: Annotated[str, QueryParameter(name="state")] = "",
    group: FromQuery[str] = "",
    type: FromQuery[str] = "",
    tag: FromQuery[str] = "",
    text: FromQuery[str] = "",
    operation: FromQuery[str] = "",
    within: FromQuery[str] = "",
    place: FromQuery[str] = "",
) -> Asked:
    """As `asked` for routes. Raises BadInput."""
    if within and not (within.isascii() and within.isdigit() and len(within) < 10):
        raise BadInput([FieldProblem("within", "must be a number of seconds")])
    return Asked(
        queue=queue.strip(),
        state=in_state,
        group=group,
        type=type.strip(),
        tag=tag.strip(),
        text=text.strip(),
        operation=operation,
        within=int(within or 0),
        place=place,
    )
