"""The Workers page."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.pages.still import load_nothing
from leaseforge_console.stream import Watched
from leaseforge_console.views import workers
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import Look
from leaseforge_console.visit import Visit


def watched(look: Look) -> Watched:
    """The page's live side: the same rows in the same order, as they are then."""

    def view(snapshot: Snapshot, _data: Any) -> workers.Workers:
        return workers.build(snapshot, look)

    place = Place("Workers", "workers", f"/live/workers{look.query(offset=look.offset)}")
    return Watched(Topic(load_nothing, (look,)), "live/workers.html", place, view)


@get("/workers", **permission(Permission.WORKERS_READ))
async def show_workers(visit: NamedDependency[Visit], look: NamedDependency[Look]) -> Response[str]:
    """All workers and what they run, or those looked for."""
    return await visit.show("pages/workers/index.html", watched(look))
