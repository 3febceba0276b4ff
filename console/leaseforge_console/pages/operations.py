"""Bulk operations: the list, and the page of one with its confirmation and its progress."""

from typing import Annotated, Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from leaseforge import bulk, limits
from leaseforge.bulk_records import BulkOperation, BulkState
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.reads import Page
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.stream import Watched
from leaseforge_console.views import operation as view
from leaseforge_console.views import operations as list_view
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit

_MEETING = (BulkState.RUNNING, BulkState.PAUSED, BulkState.STOPPED, BulkState.DONE, BulkState.ABORTED)


async def load_list(store: Store, _snapshot: Snapshot, which: str, offset: int) -> Page[BulkOperation]:
    """One page of the list."""
    return await store.run(bulk.operations(list_view.STATES[which], offset=offset, limit=list_view.PAGE_SIZE))


async def load(store: Store, _snapshot: Snapshot, operation_id: str) -> tuple[BulkOperation, list[BulkOperation]]:
    """An operation, and those on some of the same jobs. Raises BulkNotFound."""
    operation = await store.run(bulk.show(operation_id))
    return operation, await meeting(store, operation)


async def meeting(store: Store, operation: BulkOperation) -> list[BulkOperation]:
    """Other operations that have begun and may be about some of the same jobs, of the latest hundred."""
    found = await store.run(bulk.operations(_MEETING, limit=limits.MAX_PAGE))
    return [one for one in found.items if one.id != operation.id and one.order.may_meet(operation.order)]


def watched_list(which: str, offset: int) -> Watched:
    """The live side of the list."""
    which, offset = _which(which), min(max(offset, 0), limits.MAX_OPERATIONS)

    def build(snapshot: Snapshot, found: Any) -> list_view.Operations:
        return list_view.build(found, which, snapshot)

    place = Place("Operations", "operations", f"/live/operations?state={which}&offset={offset}")
    return Watched(Topic(load_list, (which, offset)), "live/operations.html", place, build)


def watched(operation_id: str) -> Watched:
    """The live side of one operation."""

    def build(snapshot: Snapshot, data: Any) -> view.OperationPage:
        operation, others = data
        return view.build(operation, others, snapshot)

    return Watched(Topic(load, (operation_id,)), "live/operation.html", place_of(operation_id, "Operation"), build)


@get("/operations", **permission(Permission.JOBS_READ))
async def show_operations(
    visit: NamedDependency[Visit],
    in_state: Annotated[str, QueryParameter(name="state")] = "",
    offset: FromQuery[int] = 0,
) -> Response[str]:
    """Operations of the last 7 days, without those that were dropped before they began unless they are asked for."""
    return await visit.show("pages/operations/index.html", watched_list(in_state, offset))


@get("/operations/{operation_id:str}", **permission(Permission.JOBS_READ))
async def show_operation(visit: NamedDependency[Visit], operation_id: FromPath[str]) -> Response[str]:
    """The confirmation, the progress, or what came of it."""
    snapshot = await visit.snapshot()
    page = view.build(*await load(visit.store, snapshot, operation_id), snapshot)
    return visit.page("pages/operations/show.html", page, place_of(operation_id, page.title), snapshot)


def place_of(operation_id: str, title_: str) -> Place:
    """Where the page of an operation stands."""
    return Place(title_, "operations", f"/live/operations/{operation_id}")


def _which(text: str) -> str:
    if text not in list_view.STATES:
        raise BadInput([FieldProblem("state", f"must be one of {', '.join(filter(None, list_view.STATES))}")])
    return text
