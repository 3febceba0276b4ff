"""Jobs that wait for their time: a start their producer chose, or the end of a backoff."""

import uuid

import structlog
from litestar import Router, delete, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, JSONBody

from leaseforge import events, operations
from leaseforge.filters import Filter
from leaseforge.jobs import JobState
from leaseforge.searching import search
from leaseforge.store import Store
from leaseforge_api.bodies import JsonBody
from leaseforge_api.one_job import ONE_JOB, OneJob
from leaseforge_api.schemas.job import JobShown
from leaseforge_api.schemas.jobs import ActionRequest
from leaseforge_api.schemas.lists import JobPage, job_page, waiting_filter
from leaseforge_api.schemas.pages import Asked
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

DELAYED = (JobState.SCHEDULED, JobState.RETRYING)

log = structlog.get_logger()


@get(
    "/",
    summary="List delayed jobs",
    dependencies={"wanted": Provide(waiting_filter)},
    **permission(Permission.DELAYED_READ),
)
async def index(
    store: NamedDependency[Store], wanted: NamedDependency[Filter], page: NamedDependency[Asked]
) -> JobPage:
    """Scheduled and retrying jobs of all queues, or of one, the one that is due first first."""
    return job_page(await store.run(search(wanted, place=page.place, limit=page.limit)), page)


@post(
    "/{job_id:str}/promote",
    summary="Promote a delayed job",
    status_code=200,
    dto=JsonBody[ActionRequest],
    **permission(Permission.DELAYED_WRITE, audit="job.promote"),
)
async def promote(job: NamedDependency[OneJob], data: JSONBody[ActionRequest | None] = None) -> JobShown:
    """Lets a scheduled or retrying job run now, behind what is ready at its priority already."""
    return await job.acted_on("promote", operations.promote, events.JOB_PROMOTED, data)


@delete("/{job_id:str}", summary="Cancel a delayed job", **permission(Permission.DELAYED_WRITE, audit="job.cancel"))
async def cancel(job_id: FromPath[str], store: NamedDependency[Store], identity: NamedDependency[Identity]) -> None:
    """Cancels a scheduled or retrying job; it is kept as cancelled for a while."""
    await store.run(operations.cancel(job_id, operation=uuid.uuid4().hex, only=DELAYED))
    log.info(events.JOB_CANCEL_ASKED, job_id=job_id, user=identity.username)


router = Router("/delayed", route_handlers=[index, promote, cancel], dependencies=ONE_JOB, tags=["delayed"])
