"""The page of one queue."""

from typing import Annotated, Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from leaseforge import limits, reads, statistics
from leaseforge.errors import QueueNotFound
from leaseforge.jobs import JobState
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.stream import Watched
from leaseforge_console.views import queue as view
from leaseforge_console.views import queues
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit

_SECONDS = 900


async def load(store: Store, snapshot: Snapshot, name: str, state: str, offset: int) -> view.Reading:
    """One page of the queue's jobs, its throughput and its present rate."""
    if all(queue.name != name for queue in snapshot.queues):
        raise QueueNotFound(name)
    offset = min(max(offset, 0), limits.MAX_OFFSET)
    jobs = await store.run(reads.jobs(name, JobState(state), offset=offset, limit=view.PAGE_SIZE))
    throughput = await store.run(statistics.throughput(seconds=_SECONDS, queue=name))
    [rate] = await store.run(statistics.rates([name]))
    return view.Reading(jobs, throughput, rate)


def watched(name: str, state: JobState, offset: int) -> Watched:
    """The page's live side; the tab stays the one that is open, even when it runs empty."""

    def build(snapshot: Snapshot, reading: Any) -> view.Queue:
        return view.build(name, state, reading, snapshot)

    place = Place(name, "queues", f"/live/queues/{name}?state={state.value}&offset={offset}")
    return Watched(Topic(load, (name, state.value, offset)), "live/queue.html", place, build)


@get("/queues/{queue:str}", **permission(Permission.QUEUES_READ))
async def show_queue(
    visit: NamedDependency[Visit],
    queue: FromPath[str],
    in_state: Annotated[JobState | None, QueryParameter(name="state")] = None,
    offset: FromQuery[int] = 0,
) -> Response[str]:
    """One queue and a page of its jobs in one state."""
    snapshot = await visit.snapshot()
    info = next((each for each in snapshot.queues if each.name == queue), None)
    if info is None:
        raise QueueNotFound(queue)
    state = in_state or view.first_state(queues.row(info, snapshot))
    return await visit.show("pages/queues/show.html", watched(queue, state, offset), snapshot=snapshot)
