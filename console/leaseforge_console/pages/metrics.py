"""The Metrics page."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery

from leaseforge import statistics
from leaseforge.errors import QueueNotFound
from leaseforge.statistics import Throughput
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.recently import Recently
from leaseforge_console.stream import Watched
from leaseforge_console.views import metrics as view
from leaseforge_console.views.figures import Shapes
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.trends import SHAPES_S, step_of
from leaseforge_console.visit import Visit

_SHORT_S = 3600


async def load(store: Store, snapshot: Snapshot, recently: Recently, asked: view.Asked) -> tuple[Throughput, Shapes]:
    """What went through, and the shapes of the queues on show. Raises QueueNotFound."""
    if asked.queue and all(queue.name != asked.queue for queue in snapshot.queues):
        raise QueueNotFound(asked.queue)
    throughput = await store.run(
        statistics.throughput(seconds=asked.seconds, step=step_of(asked.seconds), queue=asked.queue or None)
    )
    return throughput, await shapes(store, recently, view.queues_read(asked, snapshot), asked.seconds)


async def shapes(store: Store, recently: Recently, queues: tuple[str, ...], seconds: int) -> Shapes:
    """What the queues counted by type. It is many buckets and changes slowly: read every 10 s, of a day each minute."""
    seconds = min(seconds, SHAPES_S)

    async def read() -> Shapes:
        return {name: await store.run(statistics.shapes(name, seconds=seconds)) for name in queues}

    return await recently.get(("shapes", queues, seconds), read, for_s=10 if seconds <= _SHORT_S else 60)


def watched(recently: Recently, asked: view.Asked) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, data: Any) -> view.Metrics:
        throughput, found = data
        return view.build(asked, throughput, found, snapshot)

    place = Place("Metrics", "metrics", f"/live{asked.path()}")
    return Watched(Topic(load, (recently, asked)), "live/metrics.html", place, build)


@get("/metrics", **permission(Permission.METRICS_READ))
async def show_metrics(
    visit: NamedDependency[Visit], seconds: FromQuery[int] = 0, queue: FromQuery[str] = "", order: FromQuery[str] = ""
) -> Response[str]:
    """What went through, what went wrong, how long jobs waited and ran."""
    asked = view.chosen(seconds, queue, order)
    return await visit.show("pages/metrics.html", watched(visit.console.recently, asked))
