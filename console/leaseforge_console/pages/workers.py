"""The Workers page."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place
from leaseforge_console.live import Topic, read_snapshot
from leaseforge_console.pages.look import LOOK
from leaseforge_console.pages.queues import load
from leaseforge_console.stream import Watched
from leaseforge_console.views import workers
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import Look


def watched(look: Look) -> Watched:
    """The page's live side: the same rows in the same order, as they are then."""

    def view(snapshot: Snapshot, _data: Any) -> workers.Workers:
        return workers.build(snapshot, look)

    return Watched(Topic(load, (look,)), "live/workers.html", place(look), view)


def place(look: Look) -> Place:
    """Where the page stands."""
    return Place("Workers", "workers", f"/live/workers{look.query(offset=look.offset)}")


@get("/workers", dependencies=LOOK, **permission(Permission.WORKERS_READ))
async def show_workers(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    look: NamedDependency[Look],
) -> Response[str]:
    """All workers and what they run, or those looked for."""
    snapshot = await read_snapshot(store)
    page = workers.build(snapshot, look)
    return console.page(request, "pages/workers/index.html", page, place(look), snapshot=snapshot)
