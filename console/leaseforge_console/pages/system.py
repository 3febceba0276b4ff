"""The System page."""

import platform
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from leaseforge.store import Store
from leaseforge.store.server import ServerReport
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.settings import ConsoleSettings
from leaseforge_console.stream import Watched
from leaseforge_console.views import system as view
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit

PLACE = Place("System", "system", "/live/system")


async def load(store: Store, _snapshot: Snapshot) -> list[ServerReport]:
    """What Redis tells of itself."""
    return await store.servers()


def watched(settings: ConsoleSettings) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, reports: Any) -> view.System:
        return view.build(
            reports,
            snapshot,
            version=settings.version,
            python=platform.python_version(),
            environment=settings.environment,
        )

    return Watched(Topic(load), "live/system.html", PLACE, build)


@get("/system", **permission(Permission.SYSTEM_READ))
async def show_system(visit: NamedDependency[Visit]) -> Response[str]:
    """What runs, on which Redis, and what is not right with it."""
    return await visit.show("pages/system.html", watched(visit.console.settings))
