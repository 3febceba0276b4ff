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
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.stream import Watched
from leaseforge_console.views import job as view
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit


async def load(store: Store, _snapshot: Snapshot, job_id: str) -> tuple[Job, list[LogLine]]:
    """The whole job, and what it logged."""
    job = await store.run(reads.job(job_id))
    return job, await store.run(reads.log(job.queue, job_id))


def watched(visit: Visit, job_id: str) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, read: Any) -> view.JobPage:
        job, log = read
        return view.build(
            job,
            snapshot.now,
            may_read_payload=visit.identity.can(Permission.PAYLOADS_READ),
            log=log,
            workers={worker.id for worker in snapshot.workers},
        )

    place = Place(f"Job {job_id[:8]}", "jobs", f"/live/jobs/{job_id}")
    return Watched(Topic(load, (job_id,)), "live/job.html", place, build)


@get("/jobs/{job_id:str}", **permission(Permission.JOBS_READ))
async def show_job(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """One job from top to bottom."""
    return await visit.show("pages/job/show.html", watched(visit, job_id))
