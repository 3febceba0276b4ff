"""A queue's cap, rate and retention: the form, what it would change, and the change."""

from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge.errors import BadInput
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console import htmx
from leaseforge_console.console import Place
from leaseforge_console.forms import Sent, by_field
from leaseforge_console.views import queue_settings as view
from leaseforge_console.views.queue_limits import told
from leaseforge_console.visit import Visit


@get("/queues/{queue:str}/settings", **permission(Permission.QUEUES_WRITE))
async def show_settings(visit: NamedDependency[Visit], queue: FromPath[str]) -> Response[str]:
    """The form; an address with values in it shows those."""
    typed = _asked(visit)
    page = view.form(await visit.store.run(reads.queue(queue)), typed if visit.request.query_params else None)
    return await _form(visit, page)


@get("/queues/{queue:str}/settings/review", **permission(Permission.QUEUES_WRITE))
async def review_settings(visit: NamedDependency[Visit], queue: FromPath[str]) -> Response[str]:
    """Old and new beside each other; the form again where something is wrong with it. Changes nothing."""
    info = await visit.store.run(reads.queue(queue))
    typed = _asked(visit)
    try:
        changes = view.changed(info, view.read_form(typed))
    except BadInput as error:
        return await _form(visit, view.form(info, typed, by_field(error)), status=422)
    if not changes:
        return await _form(visit, view.form(info, typed, note="These are the values it has already."))
    back = f"/queues/{queue}/settings?{urlencode(list(visit.request.query_params.multi_items()))}"
    return await _review(visit, view.review(info, changes, back=back))


@post("/queues/{queue:str}/settings", **permission(Permission.QUEUES_WRITE, audit="queue.configure"))
async def change_settings(visit: NamedDependency[Visit], queue: FromPath[str]) -> Response[Any]:
    """Changes what was shown, unless somebody else changed it meanwhile."""
    sent = await visit.sent()
    before, after = view.read_review(sent)
    info = await visit.store.run(reads.queue(queue))
    is_stale = any(getattr(info.limits, name) != value for name, value in before.items())
    again = view.review(
        info,
        after,
        back=f"/queues/{queue}/settings",
        word=sent.text("word"),
        problem="Somebody else changed these settings meanwhile. Look at them again." if is_stale else None,
    )
    if again.is_refused:
        return await _review(visit, again)
    await visit.store.run(operations.configure(queue, after))
    visit.note(before=before, after=after)
    visit.did(events.QUEUE_CONFIGURED, queue=queue, changes=after)
    return visit.go(f"/console/queues/{queue}", f"Changed {queue}: {told(after)}.")


def _asked(visit: Visit) -> Sent:
    return Sent([(name, value) for name, value in visit.request.query_params.multi_items() if isinstance(value, str)])


async def _form(visit: Visit, page: view.Form, *, status: int = 200) -> Response[str]:
    place = Place(f"Settings of {page.queue}", "queues")
    return visit.page("pages/queues/settings.html", page, place, await visit.snapshot(), status=status)


async def _review(visit: Visit, page: view.Review) -> Response[str]:
    place, status = Place(f"Change {page.queue}?", "queues"), 422 if page.is_refused else 200
    response = visit.page("pages/queues/settings_review.html", page, place, await visit.snapshot(), status=status)
    if page.is_refused:
        response.headers.update(htmx.ask_again_headers("#main"))
    return response
