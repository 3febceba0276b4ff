"""The audit trail: who did what, and how it ended."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

from litestar import Router, get
from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter
from litestar.response import Stream

from leaseforge.store import Store
from leaseforge_api.schemas.audit import AuditPage
from leaseforge_api.schemas.pages import Asked
from leaseforge_api.schemas.values import unix_ms
from leaseforge_auth.audit.entries import Result
from leaseforge_auth.audit.lines import FILE_NAME, MEDIA_TYPE, as_line, audited
from leaseforge_auth.audit.search import Filter, export, search
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission

_TEXT = 200


async def wanted(
    user: Annotated[str, QueryParameter(max_length=_TEXT, description="Actions of this account.")] = "",
    action: Annotated[
        str, QueryParameter(max_length=_TEXT, description="`queue.purge`, or `queue` for all actions on queues.")
    ] = "",
    target: Annotated[str, QueryParameter(max_length=_TEXT, description="The queue, job or account acted on.")] = "",
    result: Annotated[Result | None, QueryParameter(description="How it ended.")] = None,
    since: Annotated[datetime | None, QueryParameter(description="Begun at or after this instant.")] = None,
    until: Annotated[datetime | None, QueryParameter(description="Begun before this instant.")] = None,
) -> Filter:
    """What of the trail is asked for."""
    return Filter(user, action, target, result, unix_ms(since), unix_ms(until))


@get("/", summary="List audited actions", **permission(Permission.AUDIT_READ))
async def index(
    store: NamedDependency[Store], actions: NamedDependency[Filter], page: NamedDependency[Asked]
) -> AuditPage:
    """Actions, newest first. A filter that finds little says how far it looked, and `next` looks on."""
    found = await search(store, actions, before=page.offset or None, limit=page.limit)
    following = None if found.next_before is None else page.at(found.next_before)
    return AuditPage([audited(row) for row in found.rows], found.searched, found.total, following)


@get("/export", summary="Export the audit trail as JSON lines", **permission(Permission.AUDIT_READ))
async def as_lines(store: NamedDependency[Store], actions: NamedDependency[Filter]) -> Stream:
    """Every action the filter finds, oldest first: one JSON object a line."""
    headers = {"Content-Disposition": f'attachment; filename="{FILE_NAME}"'}
    return Stream(_lines(store, actions), media_type=MEDIA_TYPE, headers=headers)


async def _lines(store: Store, actions: Filter) -> AsyncIterator[bytes]:
    async for row in export(store, actions):
        yield as_line(row)


router = Router(
    "/audit",
    route_handlers=[index, as_lines],
    dependencies={"actions": Provide(wanted)},
    tags=["audit"],
)
