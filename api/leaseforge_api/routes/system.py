"""The server itself, and everything together."""

import platform

from litestar import Router, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from leaseforge import reads
from leaseforge.store import Store
from leaseforge.workers import WorkerState
from leaseforge_api.schemas.system import Stats, Version
from leaseforge_api.settings import ServerSettings
from leaseforge_api.version import VERSION
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission


@get("/version", sync_to_thread=False, **permission(Permission.SYSTEM_READ))
def version(server_settings: NamedDependency[SkipValidation[ServerSettings]]) -> Version:
    """What runs here."""
    return Version(VERSION, platform.python_version(), server_settings.http.environment)


@get("/stats", **permission(Permission.SYSTEM_READ))
async def stats(store: NamedDependency[Store]) -> Stats:
    """All queues and workers added up."""
    infos = await store.run(reads.queues())
    counts: dict[str, int] = {}
    for info in infos:
        for state, count in info.counts.items():
            counts[state] = counts.get(state, 0) + count
    live = [one for one in await store.run(reads.all_workers()) if one.state is not WorkerState.LOST]
    return Stats(
        queues=len(infos),
        paused_queues=sum(info.paused for info in infos),
        counts=counts,
        totals=dict(reads.totals(infos)),
        workers=len(live),
        slots=sum(one.slots for one in live),
    )


router = Router("/system", route_handlers=[version, stats], tags=["system"])
