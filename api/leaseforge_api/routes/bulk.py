"""Bulk operations: one action on many jobs, counted before anything is done, then run, paused, aborted."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from litestar import Request, Response, Router, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from leaseforge import bulk, events
from leaseforge.bell import Bell
from leaseforge.bulk_records import BulkOperation
from leaseforge.calls import Plan
from leaseforge.store import Store
from leaseforge_api.bodies import JsonBody
from leaseforge_api.schemas.bulk import (
    BulkOperationRequest,
    BulkOperationShown,
    BulkRun,
    BulkStep,
    filter_noted,
    operation_shown,
    order_from,
    pace_from,
)
from leaseforge_api.schemas.jobs import IdempotencyKey
from leaseforge_api.schemas.pages import Asked, Listed
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.bulk import WRITES, check_may
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

log = structlog.get_logger()


@post(
    "/",
    summary="Create a bulk operation",
    status_code=202,
    dto=JsonBody[BulkOperationRequest],
    **permission(*WRITES, audit="bulk.create"),
)
async def create(
    data: JSONBody[BulkOperationRequest],
    request: Request[Identity, Any, Any],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    bulk_bell: NamedDependency[Bell],
    idempotency_key: IdempotencyKey = None,
) -> Response[BulkOperationShown]:
    """Freezes what matches now and begins to count it: 202 with the operation, which touches nothing until it is run.

    The same key again answers the operation it made.
    """
    order = order_from(data, created_by=identity.username)
    bulk.check_order(order)
    check_may(identity, order)
    key = f"{identity.username}\0bulk\0{idempotency_key}" if idempotency_key else uuid.uuid4().hex
    operation = await store.run(bulk.create(uuid.uuid5(uuid.NAMESPACE_OID, key).hex, order))
    bulk_bell.ring()
    action_of(request).note(operation=operation.id, action=order.action, filter=filter_noted(order.filter))
    log.info(events.BULK_CREATED, operation=operation.id, action=order.action, user=identity.username)
    location = f"{request.app.state.root_path}/api/bulk/{operation.id}"
    return Response(operation_shown(operation), status_code=202, headers={"Location": location})


@get("/", summary="List bulk operations", **permission(Permission.JOBS_READ))
async def index(store: NamedDependency[Store], page: NamedDependency[Asked]) -> Listed[BulkOperationShown]:
    """Bulk operations of the last 7 days, the newest first."""
    found = await store.run(bulk.operations(offset=page.offset, limit=page.limit))
    return page.listed([operation_shown(operation) for operation in found.items], found.total)


@get("/{operation_id:str}", summary="Show a bulk operation", **permission(Permission.JOBS_READ))
async def show(operation_id: FromPath[str], store: NamedDependency[Store]) -> BulkOperationShown:
    """One bulk operation; the counts of a running one are at most about a second old."""
    return operation_shown(await store.run(bulk.show(operation_id)))


@post(
    "/{operation_id:str}/run",
    summary="Run a bulk operation",
    status_code=200,
    dto=JsonBody[BulkRun],
    **permission(*WRITES, audit="bulk.run"),
)
async def run(
    operation_id: FromPath[str],
    request: Request[Identity, Any, Any],
    store: NamedDependency[Store],
    bulk_bell: NamedDependency[Bell],
    data: JSONBody[BulkRun | None] = None,
) -> BulkOperationShown:
    """Begins, or goes on after a pause or a stop. Running one that runs is fine, and leaves its pace as it is."""
    pace = pace_from(data) if data is not None else None
    step = BulkStep(data.reason if data is not None else None)
    shown = await _steered(partial(bulk.run, pace=pace), events.BULK_RUN, operation_id, request, store, step)
    bulk_bell.ring()
    return shown


@post(
    "/{operation_id:str}/pause",
    summary="Pause a bulk operation",
    status_code=200,
    dto=JsonBody[BulkStep],
    **permission(*WRITES, audit="bulk.pause"),
)
async def pause(
    operation_id: FromPath[str],
    request: Request[Identity, Any, Any],
    store: NamedDependency[Store],
    data: JSONBody[BulkStep | None] = None,
) -> BulkOperationShown:
    """No further job is acted on once this has answered; it can be run on. Pausing a paused one is fine."""
    return await _steered(bulk.pause, events.BULK_PAUSED, operation_id, request, store, data)


@post(
    "/{operation_id:str}/abort",
    summary="Abort a bulk operation",
    status_code=200,
    dto=JsonBody[BulkStep],
    **permission(*WRITES, audit="bulk.abort"),
)
async def abort(
    operation_id: FromPath[str],
    request: Request[Identity, Any, Any],
    store: NamedDependency[Store],
    data: JSONBody[BulkStep | None] = None,
) -> BulkOperationShown:
    """Ends it: no further job is acted on once this has answered, what was done stays done."""
    return await _steered(bulk.abort, events.BULK_ABORTED, operation_id, request, store, data)


async def _steered(
    steer: Callable[..., Plan[BulkOperation]],
    event: str,
    operation_id: str,
    request: Request[Identity, Any, Any],
    store: Store,
    data: BulkStep | None,
) -> BulkOperationShown:
    """Carries out one step of an operation for whoever may act on its jobs one by one, and answers it as it is then."""
    user, reason = request.user, (data or BulkStep()).reason or ""
    check_may(user, (await store.run(bulk.show(operation_id))).order)
    operation = await store.run(steer(operation_id, user=user.username, reason=reason))
    counts = operation.counts
    action_of(request).note(action=operation.order.action, state=operation.state, total=counts.total, done=counts.done)
    log.info(event, operation=operation.id, user=user.username, done=counts.done, total=counts.total)
    return operation_shown(operation)


router = Router("/bulk", route_handlers=[create, index, show, run, pause, abort], tags=["bulk"])
