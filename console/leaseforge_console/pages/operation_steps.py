"""Steering one bulk operation: run it (on), pause, drop it before it began, abort it."""

from typing import Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import bulk, events
from leaseforge.bell import Bell
from leaseforge.bulk_records import BulkOperation, BulkState
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.bulk import WRITES, check_may
from leaseforge_auth.guards import permission
from leaseforge_console import htmx
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.filters import plural
from leaseforge_console.forms import sent_by
from leaseforge_console.live import Live, read_snapshot
from leaseforge_console.pages.operations import load, meeting, place_of
from leaseforge_console.paths import HOME
from leaseforge_console.views import operation as view
from leaseforge_console.views.bulk_words import VERBS, jobs_of
from leaseforge_console.views.frame import Flash

log = structlog.get_logger()
_FIELDS = ("rate", "stop_at", "word", "known", "reason")


@post("/operations/{operation_id:str}/run", **permission(*WRITES, audit="bulk.run"))
async def run_operation(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    bulk_bell: NamedDependency[Bell],
    operation_id: FromPath[str],
) -> Response[Any]:
    """Lets it act, or go on. Sent twice it begins once; where somebody else has begun on these jobs it asks again."""
    operation = await _steerable(request, store, operation_id)
    form = await sent_by(request)
    sent = {name: form.text(name) for name in _FIELDS}
    if operation.state is BulkState.RUNNING:
        return _on(console, request, operation, f"It runs already: {operation.run_by} has begun it.")
    pace, problems = view.pace_sent(operation, sent)
    word = view.word_for(operation)
    if word is not None and sent["word"].strip().lower() != word:
        problems["word"] = f"Type the word {word} to confirm."
    others = await meeting(store, operation)
    if set(view.going_on(others, operation)) - set(sent["known"].split(",")):
        problems["known"] = "Somebody has begun on these jobs meanwhile."
    if problems:
        return await _ask_again(request, console, store, operation, sent, problems)
    user = identity_of(request).username
    operation = await store.run(bulk.run(operation_id, user=user, reason=sent["reason"], pace=pace))
    _note(request, operation, events.BULK_RUN)
    bulk_bell.ring()
    live.nudge()
    doing = VERBS[operation.order.action].doing.capitalize()
    return _on(console, request, operation, f"{doing} {jobs_of(operation)}.")


@post("/operations/{operation_id:str}/pause", **permission(*WRITES, audit="bulk.pause"))
async def pause_operation(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    operation_id: FromPath[str],
) -> Response[Any]:
    """No further job is touched once this has answered."""
    await _steerable(request, store, operation_id)
    operation = await store.run(bulk.pause(operation_id, user=identity_of(request).username))
    _note(request, operation, events.BULK_PAUSED)
    live.nudge()
    return _on(console, request, operation, f"Paused after {_taken(operation)}.")


@post("/operations/{operation_id:str}/discard", **permission(*WRITES, audit="bulk.abort"))
async def discard_operation(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    operation_id: FromPath[str],
) -> Response[Any]:
    """Drops what was counted and never run. Where somebody has run it meanwhile it is refused."""
    await _steerable(request, store, operation_id)
    operation = await store.run(bulk.discard(operation_id, user=identity_of(request).username))
    _note(request, operation, events.BULK_ABORTED)
    on_screen = console.page_on_screen(request)
    is_own_page = on_screen.startswith(f"{HOME}/operations/{operation_id}")
    told = Flash("good", f"Left {jobs_of(operation)} as they were.")
    return console.go(request, f"{HOME}/operations" if is_own_page else on_screen, told)


@get("/operations/{operation_id:str}/abort", **permission(*WRITES))
async def confirm_abort(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    operation_id: FromPath[str],
) -> Response[str]:
    """Says what stays done and what is left as it was."""
    await _steerable(request, store, operation_id)
    snapshot = await read_snapshot(store)
    page = view.build(*await load(store, snapshot, operation_id), snapshot)
    place = Place(f"Abort: {page.title}", "operations")
    return console.page(request, "pages/operations/abort.html", page, place, snapshot=snapshot)


@post("/operations/{operation_id:str}/abort", **permission(*WRITES, audit="bulk.abort"))
async def abort_operation(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    operation_id: FromPath[str],
) -> Response[Any]:
    """Ends it: no further job is touched once this has answered."""
    await _steerable(request, store, operation_id)
    reason = (await sent_by(request)).text("reason")
    operation = await store.run(bulk.abort(operation_id, user=identity_of(request).username, reason=reason))
    _note(request, operation, events.BULK_ABORTED)
    live.nudge()
    return _on(console, request, operation, f"Aborted after {_taken(operation)}. What was done stays done.")


async def _steerable(request: ConsoleRequest, store: Store, operation_id: str) -> BulkOperation:
    """The operation. Raises BulkNotFound, and NotPermitted for whoever may not act on its jobs one by one."""
    operation = await store.run(bulk.show(operation_id))
    check_may(identity_of(request), operation.order)
    return operation


async def _ask_again(
    request: ConsoleRequest,
    console: Console,
    store: Store,
    operation: BulkOperation,
    sent: dict[str, str],
    problems: dict[str, str],
) -> Response[str]:
    """The confirmation in the place of the one that was sent, with what is wrong about it."""
    snapshot = await read_snapshot(store)
    page = view.build(operation, await meeting(store, operation), snapshot, sent=sent, problems=problems)
    place = place_of(operation.id, page.title)
    response = console.page(request, "pages/operations/show.html", page, place, snapshot=snapshot, status=422)
    response.headers.update(htmx.ask_again_headers())
    return response


def _on(console: Console, request: ConsoleRequest, operation: BulkOperation, told: str) -> Response[Any]:
    return console.go(request, f"{HOME}/operations/{operation.id}", Flash("good", told))


def _taken(operation: BulkOperation) -> str:
    return f"{operation.counts.taken:,} of {plural(operation.counts.total, 'job')}"


def _note(request: ConsoleRequest, operation: BulkOperation, event: str) -> None:
    counts = operation.counts
    action_of(request).note(action=operation.order.action, state=operation.state, total=counts.total, done=counts.done)
    log.info(event, operation=operation.id, user=identity_of(request).username, done=counts.done, total=counts.total)
