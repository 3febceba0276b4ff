"""The search: a page without script, a list that answers while somebody types with it."""

import re
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery

from leaseforge import limits, reads
from leaseforge.errors import JobNotFound
from leaseforge.filters import ALL_STATES, Filter
from leaseforge.jobs import Job, JobState
from leaseforge.requests import is_job_id
from leaseforge.searching import search
from leaseforge.store import Store
from leaseforge_auth.guards import any_identity
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.pages.account import rail_counts
from leaseforge_console.views import palette
from leaseforge_console.views.snapshot import Snapshot

_ID_BEGINS = re.compile(r"[0-9a-f]{6}[0-9a-f-]{0,29}")
_ENDED = (JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD)
_OPEN = tuple(state for state in ALL_STATES if state not in _ENDED)


@get("/find", **any_identity())
async def find(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], q: FromQuery[str] = ""
) -> Response[Any]:
    """Goes to a job or queue that is called just so; lists whatever else may be meant."""
    query, snapshot = _read(q), await rail_counts(request, store)
    jobs = await _jobs(request, store, query)
    if is_job_id(query.lower()) and jobs:
        return console.go(request, f"/console/jobs/{jobs[0].id}")
    if snapshot and any(queue.name == query for queue in snapshot.queues):
        return console.go(request, f"/console/queues/{query}")
    page = _found(request, query, snapshot, jobs)
    return console.page(request, "pages/find.html", page, Place("Find", ""), snapshot=snapshot)


@get("/palette", **any_identity())
async def look_up(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], q: FromQuery[str] = ""
) -> Response[str]:
    """The same as options of a list, for the field that Ctrl-K opens."""
    query, snapshot = _read(q), await rail_counts(request, store)
    page = _found(request, query, snapshot, await _jobs(request, store, query))
    return console.part("partials/shared/palette_options.html", page)


def _read(query: str) -> str:
    return query.strip()[: palette.MAX_QUERY]


def _found(request: ConsoleRequest, query: str, snapshot: Snapshot | None, jobs: list[Job]) -> palette.Found:
    hits = palette.find(query, identity_of(request), snapshot, jobs)
    return palette.Found(query, hits, is_job_id(query.lower()))


async def _jobs(request: ConsoleRequest, store: Store, query: str) -> list[Job]:
    """The job of this id; of an id's beginning, those among the jobs that move or have ended lately.

    Ids are random: there is nothing they could be looked up by but whole, so only a page of each is looked at.
    """
    text = query.lower()
    if not identity_of(request).can(Permission.JOBS_READ):
        return []
    if is_job_id(text):
        try:
            return [await store.run(reads.job(text))]
        except JobNotFound:
            return []
    if not _ID_BEGINS.fullmatch(text):
        return []
    pages = [await store.run(search(Filter(states=states), limit=limits.MAX_PAGE)) for states in (_OPEN, _ENDED)]
    return [job for page in pages for job in page.items if job.id.startswith(text)]
