"""The System page."""

import platform
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from leaseforge.store import Store
from leaseforge.store.server import ServerReport
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place
from leaseforge_console.live import Topic, read_snapshot
from leaseforge_console.settings import ConsoleSettings
from leaseforge_console.stream import Watched
from leaseforge_console.views import system as view
from leaseforge_console.views.snapshot import Snapshot

PLACE = Place("System", "system", "/live/system")


async def load(store: Store, _snapshot: Snapshot) -> list[ServerReport]:
    """What Redis tells of itself."""
    return await store.servers()


def watched(settings: ConsoleSettings) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, reports: Any) -> view.System:
        return _page(settings, reports, snapshot)

    return Watched(Topic(load), "live/system.html", PLACE, build)


def _page(settings: ConsoleSettings, reports: list[ServerReport], snapshot: Snapshot) -> view.System:
    return view.build(
        reports,
        snapshot,
        version=settings.version,
        python=platform.python_version(),
        environment=settings.environment,
    )


@get("/system", **permission(Permission.SYSTEM_READ))
async def show_system(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store]
) -> Response[str]:
    """What runs, on which Redis, and what is not right with it."""
    snapshot = await read_snapshot(store)
    page = _page(console.settings, await load(store, snapshot), snapshot)
    return console.page(request, "pages/system.html", page, PLACE, snapshot=snapshot)
