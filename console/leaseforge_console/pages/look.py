"""Reads how somebody looks through a table of queues or workers from its address."""

from typing import Annotated

from litestar.params import FromQuery, QueryParameter

from leaseforge_console.views.tables import Look


async def read_look(
    find: Annotated[str, QueryParameter(name="q")] = "",
    only: FromQuery[str] = "",
    sort: FromQuery[str] = "",
    offset: FromQuery[int] = 0,
) -> Look:
    """As `look` for routes."""
    return Look.read(find, only, sort, offset)
