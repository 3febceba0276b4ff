"""The streams behind the pages. They are asked for by pages, not by people, so they keep no session alive."""

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from leaseforge.jobs import JobState
from leaseforge_auth.guards import PASSIVE, permission
from leaseforge_auth.permissions import Permission
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
from leaseforge_console.views import metrics as view
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.tables import Look
from leaseforge_console.visit import Visit

_PASSIVE = {PASSIVE: True}


@get("/live/overview", **permission(Permission.QUEUES_READ, **_PASSIVE))
async def watch_overview(visit: NamedDependency[Visit], seconds: FromQuery[int] = 0) -> Stream:
    """Updates of the Overview."""
    return visit.watch(overview.watched(visit.console.recently, seconds))


@get("/live/queues", **permission(Permission.QUEUES_READ, **_PASSIVE))
async def watch_queues(visit: NamedDependency[Visit], look: NamedDependency[Look]) -> Stream:
    """Updates of the Queues page."""
    return visit.watch(queues.watched(look))


@get("/live/queues/{name:str}", **permission(Permission.QUEUES_READ, **_PASSIVE))
async def watch_queue(
    visit: NamedDependency[Visit],
    name: FromPath[str],
    in_state: Annotated[JobState, QueryParameter(name="state")] = JobState.READY,
    offset: FromQuery[int] = 0,
) -> Stream:
    """Updates of one queue's page."""
    return visit.watch(queue.watched(name, in_state, offset))


@get("/live/jobs/{job_id:str}", **permission(Permission.JOBS_READ, **_PASSIVE))
async def watch_job(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Stream:
    """Updates of one job's page."""
    return visit.watch(job.watched(visit, job_id))


@get("/live/jobs", **permission(Permission.JOBS_READ, **_PASSIVE))
async def watch_jobs(visit: NamedDependency[Visit], asked: NamedDependency[Asked]) -> Stream:
    """Updates of a list of jobs."""
    return visit.watch(jobs.watched(asked.standing()))


@get("/live/delayed", **permission(Permission.DELAYED_READ, **_PASSIVE))
async def watch_delayed(visit: NamedDependency[Visit], asked: NamedDependency[Asked]) -> Stream:
    """Updates of the jobs that wait for their time."""
    return visit.watch(delayed.watched(asked.standing()))


@get("/live/dead", **permission(Permission.DLQ_READ, **_PASSIVE))
async def watch_dead_groups(
    visit: NamedDependency[Visit], asked: NamedDependency[Asked], offset: FromQuery[int] = 0
) -> Stream:
    """Updates of the groups of dead jobs."""
    return visit.watch(dead.watched_groups(asked, offset))


@get("/live/dead/jobs", **permission(Permission.DLQ_READ, **_PASSIVE))
async def watch_dead_jobs(visit: NamedDependency[Visit], asked: NamedDependency[Asked]) -> Stream:
    """Updates of a list of dead jobs."""
    return visit.watch(dead.watched_jobs(asked.standing()))


@get("/live/operations", **permission(Permission.JOBS_READ, **_PASSIVE))
async def watch_operations(
    visit: NamedDependency[Visit],
    in_state: Annotated[str, QueryParameter(name="state")] = "",
    offset: FromQuery[int] = 0,
) -> Stream:
    """Updates of the list of operations."""
    return visit.watch(operations.watched_list(in_state, offset))


@get("/live/operations/{operation_id:str}", **permission(Permission.JOBS_READ, **_PASSIVE))
async def watch_operation(visit: NamedDependency[Visit], operation_id: FromPath[str]) -> Stream:
    """Updates of one operation."""
    return visit.watch(operations.watched(operation_id))


@get("/live/workers", **permission(Permission.WORKERS_READ, **_PASSIVE))
async def watch_workers(visit: NamedDependency[Visit], look: NamedDependency[Look]) -> Stream:
    """Updates of the Workers page."""
    return visit.watch(workers.watched(look))


@get("/live/workers/{worker_id:str}", **permission(Permission.WORKERS_READ, **_PASSIVE))
async def watch_worker(visit: NamedDependency[Visit], worker_id: FromPath[str]) -> Stream:
    """Updates of one worker's page."""
    return visit.watch(worker.watched(worker_id))


@get("/live/metrics", **permission(Permission.METRICS_READ, **_PASSIVE))
async def watch_metrics(
    visit: NamedDependency[Visit], seconds: FromQuery[int] = 0, queue: FromQuery[str] = "", order: FromQuery[str] = ""
) -> Stream:
    """Updates of the Metrics page."""
    return visit.watch(metrics.watched(visit.console.recently, view.chosen(seconds, queue, order)))


@get("/live/system", **permission(Permission.SYSTEM_READ, **_PASSIVE))
async def watch_system(visit: NamedDependency[Visit]) -> Stream:
    """Updates of the System page."""
    return visit.watch(system.watched(visit.console.settings))
