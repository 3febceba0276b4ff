"""All jobs, narrowed by queue, state, type, tag, words of the error and time, as the address says."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.pages.job_list import found_jobs, list_tools, live_path
from leaseforge_console.stream import Watched
from leaseforge_console.views import jobs as view
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.list_tools import ListTools
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit


def watched(asked: Asked, tools: ListTools | None = None) -> Watched:
    """The page's live side, and the page itself with the tools above the list."""

    def build(snapshot: Snapshot, found: Any) -> view.Jobs:
        return view.build(found, asked, snapshot, tools)

    place = Place("Jobs", "jobs", live_path("/jobs", asked))
    return Watched(Topic(found_jobs, (JobList.JOBS, asked)), "live/jobs.html", place, build)


@get("/jobs", **permission(Permission.JOBS_READ))
async def show_jobs(visit: NamedDependency[Visit], asked: NamedDependency[Asked]) -> Response[str]:
    """A page of the jobs that match."""
    tools = await list_tools(visit, JobList.JOBS, asked)
    return await visit.show("pages/jobs/index.html", watched(asked, tools))
