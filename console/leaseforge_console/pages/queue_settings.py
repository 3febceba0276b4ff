"""A queue's cap, rate and retention: the form, what it would change, and the change."""

from typing import Any
from urllib.parse import urlencode

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge.errors import BadInput
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.forms import Sent, by_field, sent_by
from leaseforge_console.live import Live, read_snapshot
from leaseforge_console.views import queue_settings as view
from leaseforge_console.views.frame import Flash

log = structlog.get_logger()


@get("/queues/{queue:str}/settings", **permission(Permission.QUEUES_WRITE))
async def show_settings(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], queue: FromPath[str]
) -> Response[str]:
    """The form; an address with values in it shows those."""
    typed = _asked(request)
    page = view.form(await store.run(reads.queue(queue)), typed if request.query_params else None)
    return await _form(request, console, store, page)


@get("/queues/{queue:str}/settings/review", **permission(Permission.QUEUES_WRITE))
async def review_settings(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], queue: FromPath[str]
) -> Response[str]:
    """Old and new beside each other; the form again where something is wrong with it. Changes nothing."""
    info = await store.run(reads.queue(queue))
    typed = _asked(request)
    try:
        changes = view.changed(info, view.read_form(typed))
    except BadInput as error:
        return await _form(request, console, store, view.form(info, typed, by_field(error)), status=422)
    if not changes:
        return await _form(request, console, store, view.form(info, typed, note="These are the values it has already."))
    back = f"/queues/{queue}/settings?{urlencode(list(request.query_params.multi_items()))}"
    return await _review(request, console, store, view.review(info, changes, back=back))


@post("/queues/{queue:str}/settings", **permission(Permission.QUEUES_WRITE, audit="queue.configure"))
async def change_settings(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    queue: FromPath[str],
) -> Response[Any]:
    """Changes what was shown, unless somebody else changed it meanwhile."""
    sent = await sent_by(request)
    before, after = view.read_review(sent)
    info = await store.run(reads.queue(queue))
    is_stale = any(getattr(info.limits, name) != value for name, value in before.items())
    again = view.review(
        info,
        after,
        back=f"/queues/{queue}/settings",
        word=sent.text("word"),
        problem="Somebody else changed these settings meanwhile. Look at them again." if is_stale else None,
    )
    if again.is_refused:
        return await _review(request, console, store, again)
    await store.run(operations.configure(queue, after))
    action_of(request).note(before=before, after=after)
    log.info(events.QUEUE_CONFIGURED, queue=queue, changes=after, user=identity_of(request).username)
    live.nudge()
    return console.go(request, f"/console/queues/{queue}", Flash("good", f"Changed {queue}: {view.told(after)}."))


def _asked(request: ConsoleRequest) -> Sent:
    return Sent([(name, value) for name, value in request.query_params.multi_items() if isinstance(value, str)])


async def _form(
    request: ConsoleRequest, console: Console, store: Store, page: view.Form, *, status: int = 200
) -> Response[str]:
    place = Place(f"Settings of {page.queue}", "queues")
    snapshot = await read_snapshot(store)
    return console.page(request, "pages/queues/settings.html", page, place, snapshot=snapshot, status=status)


async def _review(request: ConsoleRequest, console: Console, store: Store, page: view.Review) -> Response[str]:
    place = Place(f"Change {page.queue}?", "queues")
    status = 422 if page.is_refused else 200
    response = console.page(
        request,
        "pages/queues/settings_review.html",
        page,
        place,
        snapshot=await read_snapshot(store),
        status=status,
    )
    if page.is_refused:
        response.headers.update({"HX-Retarget": "#main", "HX-Reselect": "#main", "HX-Reswap": "outerMorph"})
    return response
