"""All jobs, narrowed by queue, state, type, tag, words of the error and time, as the address says."""

from dataclasses import replace
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency, Provide

from leaseforge.searching import Found, search
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place
from leaseforge_console.live import Topic, read_snapshot
from leaseforge_console.pages.asked import asked_jobs
from leaseforge_console.pages.saved_views import list_tools
from leaseforge_console.stream import Watched
from leaseforge_console.views import jobs as view
from leaseforge_console.views import listing
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.list_tools import wanted
from leaseforge_console.views.snapshot import Snapshot

ASKED = {"asked": Provide(asked_jobs)}


async def load(store: Store, snapshot: Snapshot, asked: Asked) -> Found:
    """One page of the jobs."""
    return await store.run(
        search(
            wanted(JobList.JOBS, asked, snapshot.now),
            place=asked.place or None,
            limit=listing.PAGE_SIZE,
            infos=snapshot.queues,
        )
    )


def watched(asked: Asked) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, found: Any) -> view.Jobs:
        return view.build(found, asked, snapshot)

    return Watched(Topic(load, (asked.standing(),)), "live/jobs.html", _place(asked), build)


@get("/jobs", dependencies=ASKED, **permission(Permission.JOBS_READ))
async def show_jobs(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    asked: NamedDependency[Asked],
) -> Response[str]:
    """A page of the jobs that match."""
    snapshot = await read_snapshot(store)
    built = view.build(await load(store, snapshot, asked), asked, snapshot)
    page = replace(built, tools=await list_tools(request, store, JobList.JOBS, asked))
    return console.page(request, "pages/jobs/index.html", page, _place(asked), snapshot=snapshot)


def _place(asked: Asked) -> Place:
    """A search reads thousands of jobs: it is made when it is asked for, not every two seconds."""
    return Place("Jobs", "jobs", None if asked.looks else f"/live/jobs{asked.query()}")
