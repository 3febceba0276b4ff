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
from leaseforge_auth.guards import any_identity
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.views import palette
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit

_ID_BEGINS = re.compile(r"[0-9a-f]{6}[0-9a-f-]{0,29}")
_ENDED = (JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD)
_OPEN = tuple(state for state in ALL_STATES if state not in _ENDED)


@get("/find", **any_identity())
async def find(visit: NamedDependency[Visit], q: FromQuery[str] = "") -> Response[Any]:
    """Goes to a job or queue that is called just so; lists whatever else may be meant."""
    query, snapshot = _read(q), await visit.rail_counts()
    jobs = await _jobs(visit, query)
    if is_job_id(query.lower()) and jobs:
        return visit.go(f"/console/jobs/{jobs[0].id}")
    if snapshot and any(queue.name == query for queue in snapshot.queues):
        return visit.go(f"/console/queues/{query}")
    page = _found(visit, query, snapshot, jobs)
    return visit.page("pages/find.html", page, Place("Find", ""), snapshot)


@get("/palette", **any_identity())
async def look_up(visit: NamedDependency[Visit], q: FromQuery[str] = "") -> Response[str]:
    """The same as options of a list, for the field that Ctrl-K opens."""
    query, snapshot = _read(q), await visit.rail_counts()
    page = _found(visit, query, snapshot, await _jobs(visit, query))
    return visit.console.part("partials/shared/palette_options.html", page)


def _read(query: str) -> str:
    return query.strip()[: palette.MAX_QUERY]


def _found(visit: Visit, query: str, snapshot: Snapshot | None, jobs: list[Job]) -> palette.Found:
    hits = palette.find(query, visit.identity, snapshot, jobs)
    return palette.Found(query, hits, is_job_id(query.lower()))


async def _jobs(visit: Visit, query: str) -> list[Job]:
    """The job of this id; of an id's beginning, those among the jobs that move or have ended lately.

    Ids are random: there is nothing they could be looked up by but whole, so only a page of each is looked at.
    """
    text = query.lower()
    if not visit.identity.can(Permission.JOBS_READ):
        return []
    if is_job_id(text):
        try:
            return [await visit.store.run(reads.job(text))]
        except JobNotFound:
            return []
    if not _ID_BEGINS.fullmatch(text):
        return []
    pages = [await visit.store.run(search(Filter(states=states), limit=limits.MAX_PAGE)) for states in (_OPEN, _ENDED)]
    return [job for page in pages for job in page.items if job.id.startswith(text)]
