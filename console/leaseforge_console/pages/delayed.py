"""Jobs that wait for their time: a start their producer chose, or the end of a backoff; promote and cancel one."""

from dataclasses import replace
from typing import Annotated, Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency, Provide
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath

from leaseforge import events, operations, reads
from leaseforge.answers import Answer
from leaseforge.searching import Found, search
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.live import Live, Topic, read_snapshot
from leaseforge_console.pages.asked import asked_jobs
from leaseforge_console.pages.moved_on import carried_out
from leaseforge_console.pages.saved_views import list_tools
from leaseforge_console.stream import Watched
from leaseforge_console.views import delayed as view
from leaseforge_console.views import job as job_view
from leaseforge_console.views import listing
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.list_tools import wanted
from leaseforge_console.views.snapshot import Snapshot

log = structlog.get_logger()

ASKED = {"asked": Provide(asked_jobs)}


async def load(store: Store, snapshot: Snapshot, asked: Asked) -> Found:
    """One page of what waits, the job that is due first first."""
    return await store.run(
        search(
            wanted(JobList.DELAYED, asked, snapshot.now),
            place=asked.place or None,
            limit=listing.PAGE_SIZE,
            infos=snapshot.queues,
        )
    )


def watched(asked: Asked) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, found: Any) -> view.Delayed:
        return view.build(found, asked, snapshot)

    return Watched(Topic(load, (asked.standing(),)), "live/delayed.html", _place(asked), build)


@get("/delayed", dependencies=ASKED, **permission(Permission.DELAYED_READ))
async def show_delayed(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    asked: NamedDependency[Asked],
) -> Response[str]:
    """A page of the jobs that wait for their time."""
    snapshot = await read_snapshot(store)
    built = view.build(await load(store, snapshot, asked), asked, snapshot)
    page = replace(built, tools=await list_tools(request, store, JobList.DELAYED, asked))
    return console.page(request, "pages/delayed/index.html", page, _place(asked), snapshot=snapshot)


@post("/delayed/{job_id:str}/promote", **permission(Permission.DELAYED_WRITE, audit="job.promote"))
async def promote_job(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Annotated[job_view.ActionSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Lets the job run now, behind what is ready at its priority already; sent twice it is done once."""
    # The verb is part of the name: the same revision may be offered for another action, too.
    action = operations.promote(job_id, operation=f"promote-{data.operation}")
    answer = await carried_out(store, job_id, action, undone="promoted")
    log.info(events.JOB_PROMOTED, job_id=job_id, user=identity_of(request).username)
    live.nudge()
    short = job_id[:8]
    told = f"Job {short} was promoted already." if answer is Answer.ALREADY_DONE else f"Job {short} is ready to run."
    return console.go(request, console.page_on_screen(request), Flash("good", told))


@get("/delayed/{job_id:str}/cancel", **permission(Permission.DELAYED_WRITE))
async def confirm_cancel(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """Shows what would be cancelled."""
    snapshot = await read_snapshot(store)
    page = view.cancel_form(await store.run(reads.job(job_id)), snapshot.now)
    place = Place(f"Cancel job {job_id[:8]}", "delayed")
    return console.page(request, "pages/delayed/cancel.html", page, place, snapshot=snapshot)


@post("/delayed/{job_id:str}/cancel", **permission(Permission.DELAYED_WRITE, audit="job.cancel"))
async def cancel_job(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Annotated[view.CancelSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Cancels the job while it waits; one that runs or has ended is refused."""
    operation = f"cancel-{data.operation}"
    action = operations.cancel(job_id, operation=operation, only=view.DELAYED)
    answer = await carried_out(store, job_id, action, undone="cancelled")
    log.info(events.JOB_CANCEL_ASKED, job_id=job_id, user=identity_of(request).username)
    live.nudge()
    done_before = answer is Answer.ALREADY_DONE
    told = (
        f"Job {job_id[:8]} was cancelled already." if done_before else f"Cancelled job {job_id[:8]}: it will not run."
    )
    return console.go(request, console.after_confirmation(request, "/console/delayed"), Flash("good", told))


def _place(asked: Asked) -> Place:
    """A search reads thousands of jobs: it is made when it is asked for, not every two seconds."""
    return Place("Delayed", "delayed", None if asked.looks else f"/live/delayed{asked.query()}")
