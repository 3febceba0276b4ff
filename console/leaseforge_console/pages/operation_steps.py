"""Steering one bulk operation: run it (on), pause, drop it before it began, abort it."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import bulk, events
from leaseforge.bell import Bell
from leaseforge.bulk_records import BulkOperation, BulkState
from leaseforge_auth.bulk import WRITES, check_may
from leaseforge_auth.guards import permission
from leaseforge_console.console import Place
from leaseforge_console.filters import plural
from leaseforge_console.pages.operations import load, meeting, place_of
from leaseforge_console.paths import HOME
from leaseforge_console.views import operation as view
from leaseforge_console.views.bulk_words import VERBS, jobs_of
from leaseforge_console.views.operation_start import start_sent
from leaseforge_console.visit import Visit

_FIELDS = ("rate", "stop_at", "word", "known", "reason")


@post("/operations/{operation_id:str}/run", **permission(*WRITES, audit="bulk.run"))
async def run_operation(
    visit: NamedDependency[Visit], bulk_bell: NamedDependency[Bell], operation_id: FromPath[str]
) -> Response[Any]:
    """Lets it act, or go on. Sent twice it begins once; where somebody else has begun on these jobs it asks again."""
    operation = await _steerable(visit, operation_id)
    form = await visit.sent()
    sent = {name: form.text(name) for name in _FIELDS}
    if operation.state is BulkState.RUNNING:
        return _on(visit, operation, f"It runs already: {operation.run_by} has begun it.")
    pace, problems = start_sent(operation, await meeting(visit.store, operation), sent)
    if problems:
        return await _ask_again(visit, operation, sent, problems)
    operation = await visit.store.run(bulk.run(operation_id, user=visit.user, reason=sent["reason"], pace=pace))
    _note(visit, operation, events.BULK_RUN)
    bulk_bell.ring()
    doing = VERBS[operation.order.action].doing.capitalize()
    return _on(visit, operation, f"{doing} {jobs_of(operation)}.")


@post("/operations/{operation_id:str}/pause", **permission(*WRITES, audit="bulk.pause"))
async def pause_operation(visit: NamedDependency[Visit], operation_id: FromPath[str]) -> Response[Any]:
    """No further job is touched once this has answered."""
    await _steerable(visit, operation_id)
    operation = await visit.store.run(bulk.pause(operation_id, user=visit.user))
    _note(visit, operation, events.BULK_PAUSED)
    return _on(visit, operation, f"Paused after {_taken(operation)}.")


@post("/operations/{operation_id:str}/discard", **permission(*WRITES, audit="bulk.abort"))
async def discard_operation(visit: NamedDependency[Visit], operation_id: FromPath[str]) -> Response[Any]:
    """Drops what was counted and never run. Where somebody has run it meanwhile it is refused."""
    await _steerable(visit, operation_id)
    operation = await visit.store.run(bulk.discard(operation_id, user=visit.user))
    _note(visit, operation, events.BULK_ABORTED)
    on_screen = visit.page_on_screen()
    is_own_page = on_screen.startswith(f"{HOME}/operations/{operation_id}")
    return visit.go(f"{HOME}/operations" if is_own_page else on_screen, f"Left {jobs_of(operation)} as they were.")


@get("/operations/{operation_id:str}/abort", **permission(*WRITES))
async def confirm_abort(visit: NamedDependency[Visit], operation_id: FromPath[str]) -> Response[str]:
    """Says what stays done and what is left as it was."""
    await _steerable(visit, operation_id)
    snapshot = await visit.snapshot()
    page = view.build(*await load(visit.store, snapshot, operation_id), snapshot)
    place = Place(f"Abort: {page.title}", "operations")
    return visit.page("pages/operations/abort.html", page, place, snapshot)


@post("/operations/{operation_id:str}/abort", **permission(*WRITES, audit="bulk.abort"))
async def abort_operation(visit: NamedDependency[Visit], operation_id: FromPath[str]) -> Response[Any]:
    """Ends it: no further job is touched once this has answered."""
    await _steerable(visit, operation_id)
    reason = (await visit.sent()).text("reason")
    operation = await visit.store.run(bulk.abort(operation_id, user=visit.user, reason=reason))
    _note(visit, operation, events.BULK_ABORTED)
    return _on(visit, operation, f"Aborted after {_taken(operation)}. What was done stays done.")


async def _steerable(visit: Visit, operation_id: str) -> BulkOperation:
    """The operation. Raises BulkNotFound, and NotPermitted for whoever may not act on its jobs one by one."""
    operation = await visit.store.run(bulk.show(operation_id))
    check_may(visit.identity, operation.order)
    return operation


async def _ask_again(
    visit: Visit, operation: BulkOperation, sent: dict[str, str], problems: dict[str, str]
) -> Response[str]:
    """The confirmation in the place of the one that was sent, with what is wrong about it."""
    snapshot = await visit.snapshot()
    page = view.build(operation, await meeting(visit.store, operation), snapshot, sent=sent, problems=problems)
    place = place_of(operation.id, page.title)
    return visit.question("pages/operations/show.html", page, place, snapshot, status=422)


def _on(visit: Visit, operation: BulkOperation, told: str) -> Response[Any]:
    return visit.go(f"{HOME}/operations/{operation.id}", told)


def _taken(operation: BulkOperation) -> str:
    return f"{operation.counts.taken:,} of {plural(operation.counts.total, 'job')}"


def _note(visit: Visit, operation: BulkOperation, event: str) -> None:
    counts = operation.counts
    visit.note(action=operation.order.action, state=operation.state, total=counts.total, done=counts.done)
    visit.did(event, operation=operation.id, done=counts.done, total=counts.total)
