"""Jobs that wait for their time: a start their producer chose, or the end of a backoff; promote and cancel one."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.forms import FromForm
from leaseforge_console.live import Topic
from leaseforge_console.moved_on import carried_out
from leaseforge_console.pages.job_list import found_jobs, list_tools, live_path
from leaseforge_console.stream import Watched
from leaseforge_console.views import delayed as view
from leaseforge_console.views import job as job_view
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.list_tools import ListTools
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit


def watched(asked: Asked, tools: ListTools | None = None) -> Watched:
    """The page's live side, and the page itself with the tools above the list."""

    def build(snapshot: Snapshot, found: Any) -> view.Delayed:
        return view.build(found, asked, snapshot, tools)

    place = Place("Delayed", "delayed", live_path("/delayed", asked))
    return Watched(Topic(found_jobs, (JobList.DELAYED, asked)), "live/delayed.html", place, build)


@get("/delayed", **permission(Permission.DELAYED_READ))
async def show_delayed(visit: NamedDependency[Visit], asked: NamedDependency[Asked]) -> Response[str]:
    """A page of the jobs that wait for their time."""
    tools = await list_tools(visit, JobList.DELAYED, asked)
    return await visit.show("pages/delayed/index.html", watched(asked, tools))


@post("/delayed/{job_id:str}/promote", **permission(Permission.DELAYED_WRITE, audit="job.promote"))
async def promote_job(
    visit: NamedDependency[Visit], job_id: FromPath[str], data: FromForm[job_view.ActionSent]
) -> Response[Any]:
    """Lets the job run now, behind what is ready at its priority already; sent twice it is done once."""
    # The verb is part of the name: the same revision may be offered for another action, too.
    action = operations.promote(job_id, operation=f"promote-{data.operation}")
    is_new = await carried_out(visit, job_id, action, events.JOB_PROMOTED, undone="promoted")
    told = f"Job {job_id[:8]} is ready to run." if is_new else f"Job {job_id[:8]} was promoted already."
    return visit.go(visit.page_on_screen(), told)


@get("/delayed/{job_id:str}/cancel", **permission(Permission.DELAYED_WRITE))
async def confirm_cancel(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """Shows what would be cancelled."""
    snapshot = await visit.snapshot()
    page = view.cancel_form(await visit.store.run(reads.job(job_id)), snapshot.now)
    place = Place(f"Cancel job {job_id[:8]}", "delayed")
    return visit.page("pages/delayed/cancel.html", page, place, snapshot)


@post("/delayed/{job_id:str}/cancel", **permission(Permission.DELAYED_WRITE, audit="job.cancel"))
async def cancel_job(
    visit: NamedDependency[Visit], job_id: FromPath[str], data: FromForm[view.CancelSent]
) -> Response[Any]:
    """Cancels the job while it waits; one that runs or has ended is refused."""
    action = operations.cancel(job_id, operation=f"cancel-{data.operation}", only=view.DELAYED)
    is_new = await carried_out(visit, job_id, action, events.JOB_CANCEL_ASKED, undone="cancelled")
    told = f"Cancelled job {job_id[:8]}: it will not run." if is_new else f"Job {job_id[:8]} was cancelled already."
    return visit.go(visit.after_confirmation("/console/delayed"), told)
