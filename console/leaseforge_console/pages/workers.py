"""The Workers page."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place
from leaseforge_console.live import Topic, read_snapshot
from leaseforge_console.pages.queues import load
from leaseforge_console.stream import Watched
from leaseforge_console.views import workers
from leaseforge_console.views.snapshot import Snapshot

PLACE = Place("Workers", "workers", "/live/workers")


def view(snapshot: Snapshot, _data: Any) -> workers.Workers:
    """The page from a snapshot."""
    return workers.build(snapshot)


WATCHED = Watched(Topic(load), "live/workers.html", PLACE, view)


@get("/workers", **permission(Permission.WORKERS_READ))
async def show_workers(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store]
) -> Response[str]:
    """All workers, and what they run."""
    snapshot = await read_snapshot(store)
    return console.page(request, "pages/workers/index.html", workers.build(snapshot), PLACE, snapshot=snapshot)
