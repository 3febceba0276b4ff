"""Looking for jobs over all queues and states."""

from dataclasses import replace

from litestar import Router, get
from litestar.di import NamedDependency, Provide

from leaseforge.filters import Filter
from leaseforge.searching import search
from leaseforge.store import Store
from leaseforge_api.schemas.lists import JobPage, job_filter, job_page
from leaseforge_api.schemas.pages import Asked
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission


@get("/", summary="List jobs", **permission(Permission.JOBS_READ, Permission.JOBS_READ_OWN))
async def index(
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    wanted: NamedDependency[Filter],
    page: NamedDependency[Asked],
) -> JobPage:
    """Jobs of all queues that match, without payloads. A producer sees its own jobs only.

    Running ones by lease expiry, then ready ones in claim order, scheduled and retrying ones by due time, ended ones
    newest first. What queue, state and error group do not decide is looked for in at most 5,000 jobs a request.
    """
    sees_all = identity.can(Permission.JOBS_READ)
    if not sees_all:
        if wanted.created_by not in (None, identity.username):
            return JobPage([], None, None, 0, None)
        wanted = replace(wanted, created_by=identity.username)
    found = await store.run(search(wanted, place=page.place, limit=page.limit))
    return job_page(found, page, hides_size=not sees_all)


router = Router("/jobs", route_handlers=[index], dependencies={"wanted": Provide(job_filter)}, tags=["jobs"])
