"""The Queues page, and the purge of a queue."""

from typing import Annotated, Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath

from leaseforge import events, operations, reads
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import CrossSiteRequest
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.filters import plural
from leaseforge_console.live import Live, Topic, read_snapshot
from leaseforge_console.pages.look import LOOK
from leaseforge_console.stream import Watched
from leaseforge_console.views import queues
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import Look

log = structlog.get_logger()


async def load(_store: Store, _snapshot: Snapshot, _look: Look) -> None:
    """The snapshot says it all."""


def watched(look: Look) -> Watched:
    """The page's live side: the same rows in the same order, as they are then."""

    def view(snapshot: Snapshot, _data: Any) -> queues.Queues:
        return queues.build(snapshot, look)

    return Watched(Topic(load, (look,)), "live/queues.html", place(look), view)


def place(look: Look) -> Place:
    """Where the page stands."""
    return Place("Queues", "queues", f"/live/queues{look.query(offset=look.offset)}")


@get("/queues", dependencies=LOOK, **permission(Permission.QUEUES_READ))
async def show_queues(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    look: NamedDependency[Look],
) -> Response[str]:
    """All queues with their depths, or those looked for."""
    snapshot = await read_snapshot(store)
    page = queues.build(snapshot, look)
    return console.page(request, "pages/queues/index.html", page, place(look), snapshot=snapshot)


@get("/queues/{queue:str}/purge", **permission(Permission.QUEUES_WRITE))
async def confirm_purge(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], queue: FromPath[str]
) -> Response[str]:
    """Shows what a purge would remove, frozen at this moment."""
    info = await store.run(reads.queue(queue))
    return await _ask(request, console, store, queues.purge_form(info, identity_of(request).csrf_token))


@post("/queues/{queue:str}/purge", **permission(Permission.QUEUES_WRITE, audit="queue.purge"))
async def purge_queue(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    queue: FromPath[str],
    data: Annotated[queues.PurgeSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Removes the ready jobs that were shown, nothing that came later."""
    frozen, key = data.frozen(queue), identity_of(request).csrf_token
    if not queues.is_as_shown(frozen, data, key):
        raise CrossSiteRequest("the confirmation is not one this session was shown")
    if again := queues.problem_of(frozen, data, key):
        return await _ask(request, console, store, again)
    purged = await store.run(operations.purge(queue, sequence=frozen.sequence, as_of_ms=frozen.as_of_ms))
    action_of(request).note(removed=purged.removed)
    log.info(events.QUEUE_PURGED, queue=queue, removed=purged.removed, user=identity_of(request).username)
    live.nudge()
    told = f"Purged {plural(purged.removed, 'ready job')} of {queue}. Jobs that came later were not touched."
    back = console.after_confirmation(request, f"/console/queues/{queue}")
    return console.go(request, back, Flash("good", told))


async def _ask(request: ConsoleRequest, console: Console, store: Store, form: queues.PurgeForm) -> Response[str]:
    """The confirmation; asked again in its place when something was wrong with it."""
    response = console.page(
        request,
        "pages/queues/purge.html",
        form,
        Place(f"Purge {form.frozen.queue}", "queues"),
        snapshot=await read_snapshot(store),
        status=422 if form.problem else 200,
    )
    if form.problem:
        response.headers.update({"HX-Retarget": "#confirm", "HX-Reselect": "#confirm", "HX-Reswap": "outerMorph"})
    return response
