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
from leaseforge_console.pages import (
    dead,
    delayed,
    job,
    jobs,
    metrics,
    operations,
    overview,
    queue,
    queues,
    system,
    worker,
    workers,
)
from leaseforge_console.pages.look import LOOK
from leaseforge_console.stream import stream
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.tables import Look

_PASSIVE = {PASSIVE: True}


@get("/live/overview", **permission(Permission.QUEUES_READ, **_PASSIVE))
async def watch_overview(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live], seconds: FromQuery[int] = 0
) -> Stream:
    """Updates of the Overview."""
    return stream(request, console, live, overview.watched(console.recently, overview.chosen(seconds)))


@get("/live/queues", dependencies=LOOK, **permission(Permission.QUEUES_READ, **_PASSIVE))
async def watch_queues(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live], look: NamedDependency[Look]
) -> Stream:
    """Updates of the Queues page."""
    return stream(request, console, live, queues.watched(look))


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


@get("/live/jobs", dependencies=jobs.ASKED, **permission(Permission.JOBS_READ, **_PASSIVE))
async def watch_jobs(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    live: NamedDependency[Live],
    asked: NamedDependency[Asked],
) -> Stream:
    """Updates of a list of jobs."""
    return stream(request, console, live, jobs.watched(asked))


@get("/live/delayed", dependencies=delayed.ASKED, **permission(Permission.DELAYED_READ, **_PASSIVE))
async def watch_delayed(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    live: NamedDependency[Live],
    asked: NamedDependency[Asked],
) -> Stream:
    """Updates of the jobs that wait for their time."""
    return stream(request, console, live, delayed.watched(asked))


@get("/live/dead", dependencies=dead.ASKED, **permission(Permission.DLQ_READ, **_PASSIVE))
async def watch_dead_groups(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    live: NamedDependency[Live],
    asked: NamedDependency[Asked],
    offset: FromQuery[int] = 0,
) -> Stream:
    """Updates of the groups of dead jobs."""
    return stream(request, console, live, dead.watched_groups(asked, offset))


@get("/live/dead/jobs", dependencies=dead.ASKED, **permission(Permission.DLQ_READ, **_PASSIVE))
async def watch_dead_jobs(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    live: NamedDependency[Live],
    asked: NamedDependency[Asked],
) -> Stream:
    """Updates of a list of dead jobs."""
    return stream(request, console, live, dead.watched_jobs(asked))


@get("/live/operations", **permission(Permission.JOBS_READ, **_PASSIVE))
async def watch_operations(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    live: NamedDependency[Live],
    in_state: Annotated[str, QueryParameter(name="state")] = "",
    offset: FromQuery[int] = 0,
) -> Stream:
    """Updates of the list of operations."""
    return stream(request, console, live, operations.watched_list(in_state, offset))


@get("/live/operations/{operation_id:str}", **permission(Permission.JOBS_READ, **_PASSIVE))
async def watch_operation(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live], operation_id: FromPath[str]
) -> Stream:
    """Updates of one operation."""
    return stream(request, console, live, operations.watched(operation_id))


@get("/live/workers", dependencies=LOOK, **permission(Permission.WORKERS_READ, **_PASSIVE))
async def watch_workers(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live], look: NamedDependency[Look]
) -> Stream:
    """Updates of the Workers page."""
    return stream(request, console, live, workers.watched(look))


@get("/live/workers/{worker_id:str}", **permission(Permission.WORKERS_READ, **_PASSIVE))
async def watch_worker(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live], worker_id: FromPath[str]
) -> Stream:
    """Updates of one worker's page."""
    return stream(request, console, live, worker.watched(worker_id))


@get("/live/metrics", **permission(Permission.METRICS_READ, **_PASSIVE))
async def watch_metrics(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    live: NamedDependency[Live],
    seconds: FromQuery[int] = 0,
    queue: FromQuery[str] = "",
    order: FromQuery[str] = "",
) -> Stream:
    """Updates of the Metrics page."""
    return stream(request, console, live, metrics.watched(console.recently, metrics.chosen(seconds, queue, order)))


@get("/live/system", **permission(Permission.SYSTEM_READ, **_PASSIVE))
async def watch_system(
    request: ConsoleRequest, console: NamedDependency[Console], live: NamedDependency[Live]
) -> Stream:
    """Updates of the System page."""
    return stream(request, console, live, system.watched(console.settings))
