"""The streams behind the pages. They are asked for by pages, not by people, so they keep no session alive."""

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from leaseforge.jobs import JobState
from leaseforge_auth.guards import PASSIVE, permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest
from leaseforge_console.live import Live
from leaseforge_console.pages import job, overview, queue, queues, workers
from leaseforge_console.stream import stream

_PASSIVE = {PASSIVE: True}


@get("/live/overview", **permission(Permission.QUEUES_READ, **_PASSIVE))
async def watch_overview(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live], seconds: FromQuery[int] = 0
) -> Stream:
    """Updates of the Overview."""
    return stream(request, console, live, overview.watched(overview.chosen(seconds)))


@get("/live/queues", **permission(Permission.QUEUES_READ, **_PASSIVE))
async def watch_queues(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live]
) -> Stream:
    """Updates of the Queues page."""
    return stream(request, console, live, queues.WATCHED)


@get("/live/queues/{name:str}", **permission(Permission.QUEUES_READ, **_PASSIVE))
async def watch_queue(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    live: NamedDependency[Live],
    name: FromPath[str],
    in_state: Annotated[JobState, QueryParameter(name="state")] = JobState.READY,
    offset: FromQuery[int] = 0,
) -> Stream:
    """Updates of one queue's page."""
    return stream(request, console, live, queue.watched(name, in_state, offset))


@get("/live/jobs/{job_id:str}", **permission(Permission.JOBS_READ, **_PASSIVE))
async def watch_job(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live], job_id: FromPath[str]
) -> Stream:
    """Updates of one job's page."""
    return stream(request, console, live, job.watched(request, job_id))


@get("/live/workers", **permission(Permission.WORKERS_READ, **_PASSIVE))
async def watch_workers(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live]
) -> Stream:
    """Updates of the Workers page."""
    return stream(request, console, live, workers.WATCHED)
