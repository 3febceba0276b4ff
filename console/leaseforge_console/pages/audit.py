"""The Audit page, and the trail as a file."""

from collections.abc import AsyncIterator
from typing import Annotated

from litestar import Litestar, Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter
from litestar.response import Stream
from litestar.routes import HTTPRoute

from leaseforge.errors import BadInput, FieldProblem
from leaseforge.store import Store
from leaseforge_auth.audit.lines import FILE_NAME, MEDIA_TYPE, as_line
from leaseforge_auth.audit.search import Filter, export, search
from leaseforge_auth.guards import AUDIT, permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.views import audit as view
from leaseforge_console.visit import Visit

PLACE = Place("Audit", "audit")
_MAX_SEQUENCE = 2**53
ActionId = Annotated[str, QueryParameter(name="id")]
Before = Annotated[int | None, QueryParameter(name="before", ge=1, le=_MAX_SEQUENCE)]


@get("/audit", **permission(Permission.AUDIT_READ))
async def show_audit(
    visit: NamedDependency[Visit],
    action_id: ActionId = "",
    user: FromQuery[str] = "",
    action: FromQuery[str] = "",
    target: FromQuery[str] = "",
    result: FromQuery[str] = "",
    since: FromQuery[str] = "",
    until: FromQuery[str] = "",
    before: Before = None,
) -> Response[str]:
    """Actions that match, newest first."""
    query = view.read_query(
        id=action_id, user=user, action=action, target=target, result=result, since=since, until=until
    )
    found = None
    if not query.problems:
        found = await search(visit.store, query.wanted, before=before, limit=view.PAGE_SIZE)
    page = view.build(query, found, known_actions(visit.request.app), is_first=before is None)
    status = 400 if query.problems else 200
    snapshot = await visit.snapshot()
    return visit.page("pages/audit/index.html", page, PLACE, snapshot, status=status)


@get("/audit/export", **permission(Permission.AUDIT_READ))
async def export_audit(
    store: NamedDependency[Store],
    action_id: ActionId = "",
    user: FromQuery[str] = "",
    action: FromQuery[str] = "",
    target: FromQuery[str] = "",
    result: FromQuery[str] = "",
    since: FromQuery[str] = "",
    until: FromQuery[str] = "",
) -> Stream:
    """All actions that match, oldest first, one JSON object a line."""
    query = view.read_query(
        id=action_id, user=user, action=action, target=target, result=result, since=since, until=until
    )
    if query.problems:
        raise BadInput([FieldProblem(name, problem) for name, problem in query.problems.items()])
    headers = {"Content-Disposition": f'attachment; filename="{FILE_NAME}"', "Cache-Control": "no-store"}
    return Stream(_lines(store, query.wanted), media_type=MEDIA_TYPE, headers=headers)


async def _lines(store: Store, wanted: Filter) -> AsyncIterator[bytes]:
    async for row in export(store, wanted):
        yield as_line(row)


def known_actions(app: Litestar) -> list[str]:
    """Every word a route of this server has for what it does, and each resource on its own."""
    routes = [route for route in app.routes if isinstance(route, HTTPRoute)]
    words = {handler.opt[AUDIT] for route in routes for handler in route.route_handlers if AUDIT in handler.opt}
    return sorted(words | {word.partition(".")[0] for word in words})
