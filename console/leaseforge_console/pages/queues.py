"""The Queues page, and the purge of a queue."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge_auth.errors import CrossSiteRequest
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.filters import plural
from leaseforge_console.forms import FromForm
from leaseforge_console.live import Topic
from leaseforge_console.pages.still import load_nothing
from leaseforge_console.stream import Watched
from leaseforge_console.views import queues
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import Look
from leaseforge_console.visit import Visit


def watched(look: Look) -> Watched:
    """The page's live side: the same rows in the same order, as they are then."""

    def view(snapshot: Snapshot, _data: Any) -> queues.Queues:
        return queues.build(snapshot, look)

    place = Place("Queues", "queues", f"/live/queues{look.query(offset=look.offset)}")
    return Watched(Topic(load_nothing, (look,)), "live/queues.html", place, view)


@get("/queues", **permission(Permission.QUEUES_READ))
async def show_queues(visit: NamedDependency[Visit], look: NamedDependency[Look]) -> Response[str]:
    """All queues with their depths, or those looked for."""
    return await visit.show("pages/queues/index.html", watched(look))


@get("/queues/{queue:str}/purge", **permission(Permission.QUEUES_WRITE))
async def confirm_purge(visit: NamedDependency[Visit], queue: FromPath[str]) -> Response[str]:
    """Shows what a purge would remove, frozen at this moment."""
    info = await visit.store.run(reads.queue(queue))
    return await _ask(visit, queues.purge_form(info, visit.identity.csrf_token))


@post("/queues/{queue:str}/purge", **permission(Permission.QUEUES_WRITE, audit="queue.purge"))
async def purge_queue(
    visit: NamedDependency[Visit], queue: FromPath[str], data: FromForm[queues.PurgeSent]
) -> Response[Any]:
    """Removes the ready jobs that were shown, nothing that came later."""
    frozen, key = data.frozen(queue), visit.identity.csrf_token
    if not queues.is_as_shown(frozen, data, key):
        raise CrossSiteRequest("the confirmation is not one this session was shown")
    if again := queues.problem_of(frozen, data, key):
        return await _ask(visit, again)
    purged = await visit.store.run(operations.purge(queue, sequence=frozen.sequence, as_of_ms=frozen.as_of_ms))
    visit.note(removed=purged.removed)
    visit.did(events.QUEUE_PURGED, queue=queue, removed=purged.removed)
    told = f"Purged {plural(purged.removed, 'ready job')} of {queue}. Jobs that came later were not touched."
    return visit.go(visit.after_confirmation(f"/console/queues/{queue}"), told)


async def _ask(visit: Visit, form: queues.PurgeForm) -> Response[str]:
    """The confirmation; asked again in its place when something was wrong with it."""
    place, status = Place(f"Purge {form.frozen.queue}", "queues"), 422 if form.problem else 200
    return visit.question("pages/queues/purge.html", form, place, await visit.snapshot(), status=status)
