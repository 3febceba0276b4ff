"""The page of one job."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import reads
from leaseforge.jobs import Job, LogLine
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.live import Topic, read_snapshot
from leaseforge_console.stream import Watched
from leaseforge_console.views import job as view
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.snapshot import Snapshot

Read = tuple[Job, list[LogLine]]


async def load(store: Store, _snapshot: Snapshot, job_id: str) -> Read:
    """The whole job, and what it logged."""
    job = await store.run(reads.job(job_id))
    return job, await store.run(reads.log(job.queue, job_id))


def watched(request: ConsoleRequest, job_id: str) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, read: Any) -> view.JobPage:
        return _page(request, read, snapshot)

    return Watched(Topic(load, (job_id,)), "live/job.html", place(job_id), build)


def place(job_id: str) -> Place:
    """Where the page stands."""
    return Place(f"Job {job_id[:8]}", "jobs", f"/live/jobs/{job_id}")


@get("/jobs/{job_id:str}", **permission(Permission.JOBS_READ))
async def show_job(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """One job from top to bottom."""
    return await job_page(request, console, store, job_id)


async def job_page(
    request: ConsoleRequest,
    console: Console,
    store: Store,
    job_id: str,
    *,
    told: Flash | None = None,
    status: int = 200,
) -> Response[str]:
    """The page as it is now, with a message on it if there is one to tell."""
    snapshot = await read_snapshot(store)
    page = _page(request, await load(store, snapshot, job_id), snapshot)
    return console.page(
        request, "pages/job/show.html", page, place(job_id), snapshot=snapshot, status=status, told=told
    )


def _page(request: ConsoleRequest, read: Read, snapshot: Snapshot) -> view.JobPage:
    job, log = read
    return view.build(
        job,
        snapshot.now,
        may_read_payload=identity_of(request).can(Permission.PAYLOADS_READ),
        log=log,
        workers={worker.id for worker in snapshot.workers},
    )
