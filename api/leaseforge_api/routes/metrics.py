"""Charts: what went through, and how long jobs of each type waited and ran."""

import time
from datetime import datetime
from typing import Annotated

from litestar import Router, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from leaseforge import reads, statistics
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.statistics import Step
from leaseforge.store import Store
from leaseforge_api.schemas.metrics import ThroughputShown, TypeShown, point_shown, type_shown
from leaseforge_api.schemas.pages import Asked, Listed, OfQueue
from leaseforge_api.schemas.values import unix_s
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission

_DEFAULT_S = 900
_DAY_S = 86_400


@get("/throughput", summary="Show throughput", **permission(Permission.METRICS_READ))
async def throughput(
    store: NamedDependency[Store],
    from_at: Annotated[
        datetime | None, QueryParameter(name="from", description="15 minutes before `to` if left out.")
    ] = None,
    to_at: Annotated[datetime | None, QueryParameter(name="to", description="Now if left out.")] = None,
    step: Annotated[
        Step | None, QueryParameter(description="Seconds a point spans; left out, the finest with at most 312 points.")
    ] = None,
    queue: OfQueue = None,
) -> ThroughputShown:
    """What happened between two instants. Points of 10 s are kept for 2 h, of 5 min for 26 h, of 1 h for 8 days."""
    now_s = time.time()
    to_s = now_s if to_at is None else unix_s(to_at)
    from_s = to_s - _DEFAULT_S if from_at is None else unix_s(from_at)
    if from_s >= to_s:
        raise BadInput([FieldProblem("from", "must be before `to`, which is now if it is left out")])
    if queue is not None:
        await store.run(reads.queue(queue))
    reach_s = int(min(max(now_s - from_s, 1), statistics.KEPT[Step.HOUR] * Step.HOUR))
    chosen = step or statistics.step_for(reach_s)
    # One more: the first bucket is the one `from` falls into.
    series = await store.run(statistics.throughput(seconds=reach_s + 2 * chosen, step=chosen, queue=queue))
    points = [point for point in series.points if from_s - chosen < point.at.timestamp() < to_s]
    return ThroughputShown(queue, chosen, [point_shown(point) for point in points])


@get("/types", summary="List job types", **permission(Permission.METRICS_READ))
async def types(
    store: NamedDependency[Store],
    page: NamedDependency[Asked],
    seconds: Annotated[
        int, QueryParameter(ge=1, le=_DAY_S, description="Over about the last so many seconds, a day at most.")
    ] = _DEFAULT_S,
    queue: OfQueue = None,
) -> Listed[TypeShown]:
    """Job types by name. Each queue tells its first 100 types apart and counts the rest as `other`."""
    if queue is not None:
        await store.run(reads.queue(queue))
    names = [queue] if queue is not None else await store.run(reads.readable(reads.queue_names(), []))
    shapes = statistics.added_up([await store.run(statistics.shapes(name, seconds=seconds)) for name in names])
    return page.listed([type_shown(shape) for shape in page.part_of(shapes)], len(shapes))


router = Router("/metrics", route_handlers=[throughput, types], tags=["metrics"])
