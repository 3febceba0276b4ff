"""The page of one job, and what can be done to it: retry, delete."""

from typing import Annotated, Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath

from leaseforge import events, operations, reads
from leaseforge.answers import Answer
from leaseforge.jobs import Job
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.live import Live, Topic, read_snapshot
from leaseforge_console.stream import Watched
from leaseforge_console.views import job as view
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.snapshot import Snapshot

log = structlog.get_logger()


async def load(store: Store, _snapshot: Snapshot, job_id: str) -> Job:
    """The whole job."""
    return await store.run(reads.job(job_id))


def watched(request: ConsoleRequest, job_id: str) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, job: Any) -> view.JobPage:
        return _page(request, job, snapshot)

    return Watched(Topic(load, (job_id,)), "live/job.html", place(job_id), build)


def place(job_id: str) -> Place:
    """Where the page stands."""
    return Place(f"Job {job_id[:8]}", "jobs", f"/live/jobs/{job_id}")


def _page(request: ConsoleRequest, job: Job, snapshot: Snapshot) -> view.JobPage:
    may_read = identity_of(request).can(Permission.PAYLOADS_READ)
    return view.build(job, snapshot.now, may_read_payload=may_read)


@get("/jobs/{job_id:str}", **permission(Permission.JOBS_READ))
async def show_job(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """One job from top to bottom."""
    snapshot = await read_snapshot(store)
    page = _page(request, await load(store, snapshot, job_id), snapshot)
    return console.page(request, "pages/job/show.html", page, place(job_id), snapshot=snapshot)


@post("/jobs/{job_id:str}/retry", **permission(Permission.JOBS_WRITE, audit="job.retry"))
async def retry_job(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Annotated[view.ActionSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Dead -> ready, with fresh budgets; sent twice it is done once."""
    answer = await store.run(operations.retry(job_id, operation=data.operation))
    log.info(events.JOB_REPLAYED, job_id=job_id, user=identity_of(request).username)
    live.nudge()
    done_before = answer is Answer.ALREADY_DONE
    told = "The job was put back already." if done_before else "Put back: the next free worker takes the job."
    return console.go(request, f"/console/jobs/{job_id}", Flash("good", told))


@get("/jobs/{job_id:str}/delete", **permission(Permission.JOBS_WRITE))
async def confirm_delete(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """Shows what would be deleted."""
    snapshot = await read_snapshot(store)
    page = _page(request, await load(store, snapshot, job_id), snapshot)
    place = Place(f"Delete job {job_id[:8]}", "jobs")
    return console.page(request, "pages/job/delete.html", page, place, snapshot=snapshot)


@post("/jobs/{job_id:str}/delete", **permission(Permission.JOBS_WRITE, audit="job.delete"))
async def delete_job(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
) -> Response[Any]:
    """Removes the job with its history; a running one is refused."""
    job = await store.run(reads.job(job_id))
    await store.run(operations.delete(job_id))
    log.info(events.JOB_DELETED, job_id=job_id, user=identity_of(request).username)
    live.nudge()
    told = Flash("good", f"Deleted job {job_id} ({job.type}).")
    return console.go(request, f"/console/queues/{job.queue}?state={job.state.value}", told)
