"""The Overview page."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery

from leaseforge import statistics
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.pages.metrics import shapes
from leaseforge_console.recently import Recently
from leaseforge_console.signs import read_signs
from leaseforge_console.stream import Watched
from leaseforge_console.views import metrics, overview
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.trends import RANGES, step_of
from leaseforge_console.visit import Visit

_CHOICES = frozenset(seconds for seconds, _ in RANGES)
_SIGNS_S = 10
_DEFAULT = RANGES[0][0]


async def load(store: Store, snapshot: Snapshot, recently: Recently, seconds: int) -> overview.Reading:
    """The throughput of all queues; less often, being dear, the figures of types and the signs of trouble."""
    busiest = metrics.busiest(snapshot)
    return overview.Reading(
        throughput=await store.run(statistics.throughput(seconds=seconds, step=step_of(seconds))),
        shapes=await shapes(store, recently, busiest, seconds),
        signs=await recently.get("signs", lambda: read_signs(store, snapshot), for_s=_SIGNS_S),
    )


def watched(recently: Recently, seconds: int) -> Watched:
    """The page's live side. `seconds` is one of the ranges on offer; anything else shows the first."""
    seconds = seconds if seconds in _CHOICES else _DEFAULT

    def view(snapshot: Snapshot, reading: Any) -> overview.Overview:
        return overview.build(snapshot, reading, seconds)

    place = Place("Overview", "overview", f"/live/overview?seconds={seconds}")
    return Watched(Topic(load, (recently, seconds)), "live/overview.html", place, view)


@get("/", **permission(Permission.QUEUES_READ))
async def show_overview(visit: NamedDependency[Visit], seconds: FromQuery[int] = _DEFAULT) -> Response[str]:
    """What is wrong, how much there is, how fast it goes."""
    return await visit.show("pages/overview.html", watched(visit.console.recently, seconds))
