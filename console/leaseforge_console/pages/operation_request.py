"""Asking for a bulk operation: that freezes its jobs and touches none of them.

Small ones are counted by the time the answer leaves, so the confirmation opens at once; the page of a larger one shows
how far the counting is.
"""

import asyncio
import hashlib
import time
from typing import Annotated, Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter
from litestar.response import Redirect

from leaseforge import bulk, events, limits, reads
from leaseforge.bell import Bell
from leaseforge.bulk_records import BulkAction, BulkGroup, BulkOperation, BulkOrder, BulkState
from leaseforge.errors import BadInput, BulkNotFound, FieldProblem, IdempotencyConflict, TooManyOwnOperations
from leaseforge.store import Store
from leaseforge_auth.bulk import WRITES, check_may
from leaseforge_auth.guards import permission
from leaseforge_console import htmx
from leaseforge_console.console import Place
from leaseforge_console.forms import Sent
from leaseforge_console.paths import HOME
from leaseforge_console.views import new_operation as view
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import Chosen, JobList
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit

COUNT_WAIT_S = 2.5
"""An answer is held back so long for the counting to end."""
_LOOK_EVERY_S = 0.03
_SAME_S = 10
"""A form sent twice within this asks for one operation."""


@get("/operations/new", **permission(*WRITES))
async def ask_anew(
    visit: NamedDependency[Visit],
    asked: NamedDependency[Asked],
    action: FromQuery[str],
    of_list: Annotated[str, QueryParameter(name="list")] = "",
) -> Response[str]:
    """Where links lead that act on many: says what would be counted. Nothing is frozen yet."""
    chosen = _chosen(action, of_list, asked)
    snapshot = await visit.snapshot()
    order = await _order(visit, chosen, snapshot)
    check_may(visit.identity, order)
    bulk.check_order(order)
    page = view.build(chosen, order)
    return visit.page("pages/operations/new.html", page, Place(page.title, "operations"), snapshot)


@post("/operations", **permission(*WRITES, audit="bulk.create"))
async def ask_for_operation(visit: NamedDependency[Visit], bulk_bell: NamedDependency[Bell]) -> Response[Any]:
    """Freezes the chosen jobs and leads to the confirmation. Sent twice it asks for one operation.

    Who has too many that are not over is led to them.
    """
    sent = await visit.sent()
    chosen = _chosen_by(sent)
    if not chosen.ids and not chosen.groups and not sent.text("all"):
        return visit.refuse(visit.page_on_screen(), "Tick at least one job or group, or all that match.")
    order = await _order(visit, chosen, await visit.snapshot())
    check_may(visit.identity, order)
    try:
        operation = await _ask_once(visit.store, order, chosen)
    except TooManyOwnOperations as refusal:
        told = f"{len(refusal.own)} of your operations are not over: run or abort one of them first."
        return visit.refuse(f"{HOME}/operations?state=open", told)
    bulk_bell.ring()
    visit.note(operation=operation.id, action=order.action, queue=order.filter.queue, about=order.about)
    visit.did(events.BULK_CREATED, operation=operation.id, action=order.action)
    path = f"/operations/{operation.id}"
    operation = await _counted(visit.store, operation)
    if htmx.is_htmx(visit.request) and operation.state is not BulkState.COLLECTING:
        # The confirmation opens as a dialog on the page it was asked for on.
        return Redirect(f"{visit.console.settings.root_path}{HOME}{path}", status_code=htmx.SEE_OTHER)
    return visit.go(HOME + path)


async def _order(visit: Visit, chosen: Chosen, snapshot: Snapshot) -> BulkOrder:
    about = ""
    if chosen.asked.group and not chosen.ids:
        group = await visit.store.run(reads.group(chosen.asked.queue, chosen.asked.group))
        about = f"{group.kind or 'unknown error'}: {group.message}"[:200] if group else ""
    return chosen.order(visit.user, snapshot.now, about=about)


async def _ask_once(store: Store, order: BulkOrder, chosen: Chosen) -> BulkOperation:
    """The operation this form asked for a moment ago and that still waits, else a new one."""
    now = time.time()
    minute = int(now // 60)
    if now % 60 < _SAME_S and (before := await _waiting_of(store, order, chosen, minute - 1, now)):
        return before
    for number in range(limits.MAX_OPERATIONS):
        operation_id = _id_of(order.created_by, chosen, minute, number)
        try:
            made = await store.run(bulk.show(operation_id))
        except BulkNotFound:
            try:
                return await store.run(bulk.create(operation_id, order))
            except IdempotencyConflict:  # the same form, sent at the same moment
                return await store.run(bulk.show(operation_id))
        if _was_just_asked_for(made, now):
            return made
    raise BadInput([FieldProblem("action", "was asked for too often in this minute")])


async def _waiting_of(store: Store, order: BulkOrder, chosen: Chosen, minute: int, now: float) -> BulkOperation | None:
    """What the same form asked for at the end of the minute, if it still waits."""
    for number in range(limits.MAX_OPERATIONS):
        try:
            made = await store.run(bulk.show(_id_of(order.created_by, chosen, minute, number)))
        except BulkNotFound:
            return None
        if _was_just_asked_for(made, now):
            return made
    return None


def _was_just_asked_for(made: BulkOperation, now: float) -> bool:
    is_waiting = made.state in (BulkState.COLLECTING, BulkState.READY)
    return is_waiting and made.created_at is not None and now - made.created_at.timestamp() < _SAME_S


def _id_of(user: str, chosen: Chosen, minute: int, number: int) -> str:
    return hashlib.sha256(repr((user, chosen, minute, number)).encode()).hexdigest()[:32]


async def _counted(store: Store, operation: BulkOperation) -> BulkOperation:
    """The operation once it is counted, or as far as it is when the answer must leave."""
    until = time.monotonic() + COUNT_WAIT_S
    while operation.state is BulkState.COLLECTING and time.monotonic() < until:
        await asyncio.sleep(_LOOK_EVERY_S)
        operation = await store.run(bulk.show(operation.id))
    return operation


def _chosen_by(sent: Sent) -> Chosen:
    """What the form of a list asks for. Raises BadInput."""
    within = sent.text("within")
    if within and not (within.isascii() and within.isdigit() and len(within) < 10):
        raise BadInput([FieldProblem("within", "must be a number of seconds")])
    names = ("queue", "state", "group", "type", "tag", "text", "operation")
    asked = Asked(**{name: sent.text(name) for name in names}, within=int(within or 0))
    ids = () if sent.text("all") else sent.every("id", most=limits.MAX_OPERATION_IDS)
    groups = () if sent.text("all") else sent.every("group_of", most=limits.MAX_OPERATION_GROUPS)
    return _chosen(sent.text("action"), sent.text("list"), asked, ids, tuple(map(_group, groups)))


def _group(text: str) -> BulkGroup:
    """A ticked group, as its box names it: queue, slash, key."""
    queue, _, key = text.partition("/")
    return BulkGroup(queue, key)


def _chosen(
    action: str, of_list: str, asked: Asked, ids: tuple[str, ...] = (), groups: tuple[BulkGroup, ...] = ()
) -> Chosen:
    try:
        wanted = BulkAction(action)
    except ValueError as error:
        raise BadInput([FieldProblem("action", f"must be one of {', '.join(BulkAction)}")]) from error
    usual = {BulkAction.RETRY: JobList.DEAD, BulkAction.PROMOTE: JobList.DELAYED}.get(wanted, JobList.JOBS)
    try:
        return Chosen(wanted, JobList(of_list) if of_list else usual, asked.at(""), ids, groups)
    except ValueError as error:
        raise BadInput([FieldProblem("list", f"must be one of {', '.join(JobList)}")]) from error
