"""What is done to one job from its page: retry, run again, let go early, cancel, delete.

Each is done once however often it is sent, and says so truly when the job has moved on since it was shown: then nothing
is done, and the audit trail has it as refused.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath

from leaseforge import events, operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import JobNotFound
from leaseforge.jobs import Job, JobState
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console import htmx
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.live import Live, read_snapshot
from leaseforge_console.pages.job import job_page
from leaseforge_console.pages.moved_on import MovedOn, carried_out
from leaseforge_console.views import job_asks
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.job import ActionSent
from leaseforge_console.views.job_asks import LIVE, WAITING, Answered, Ask

log = structlog.get_logger()

Pressed = Annotated[ActionSent, Body(media_type=RequestEncodingType.URL_ENCODED)]
Confirmed = Annotated[Answered, Body(media_type=RequestEncodingType.URL_ENCODED)]


@post("/jobs/{job_id:str}/retry", **permission(Permission.JOBS_WRITE, audit="job.retry"))
async def retry_job(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Pressed,
) -> Response[Any]:
    """Dead -> ready, with fresh budgets."""
    try:
        answer = await carried_out(store, job_id, operations.retry(job_id, operation=data.operation), undone="put back")
    except MovedOn as moved:
        return await tell_moved(request, console, store, moved)
    log.info(events.JOB_REPLAYED, job_id=job_id, user=identity_of(request).username)
    told = "Put back: the next free worker takes the job."
    return _done(request, console, live, job_id, answer, told, "The job was put back already.")


@post("/jobs/{job_id:str}/promote", **permission(Permission.DELAYED_WRITE, audit="job.promote"))
async def promote_now(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Pressed,
) -> Response[Any]:
    """Scheduled, retrying -> ready, behind what is ready at its priority already."""
    # The verb is part of the name: the same revision may be offered for another action, too.
    action = operations.promote(job_id, operation=f"promote-{data.operation}")
    try:
        answer = await carried_out(store, job_id, action, undone="promoted")
    except MovedOn as moved:
        return await tell_moved(request, console, store, moved)
    log.info(events.JOB_PROMOTED, job_id=job_id, user=identity_of(request).username)
    told = "Ready to run: the next free worker takes the job."
    return _done(request, console, live, job_id, answer, told, "The job was promoted already.")


@get("/jobs/{job_id:str}/requeue", **permission(Permission.JOBS_WRITE))
async def confirm_requeue(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """Shows what would run once more."""
    return await _ask(request, console, store, job_id, job_asks.requeue)


@post("/jobs/{job_id:str}/requeue", **permission(Permission.JOBS_WRITE, audit="job.requeue"))
async def requeue_job(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Confirmed,
) -> Response[Any]:
    """Completed, cancelled, dead -> ready; its result is cleared."""
    action = operations.requeue(job_id, operation=f"requeue-{data.operation}")
    try:
        answer = await carried_out(store, job_id, action, undone="put back")
    except MovedOn as moved:
        return await _ask_again(request, console, store, job_asks.requeue, moved)
    log.info(events.JOB_REPLAYED, job_id=job_id, user=identity_of(request).username)
    told = "Put back: it runs once more as soon as a worker is free."
    return _done(request, console, live, job_id, answer, told, "The job was put back already.")


@get("/jobs/{job_id:str}/cancel", **permission(Permission.JOBS_WRITE))
async def confirm_cancel_job(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """Shows what a cancellation means for the job as it stands."""
    return await _ask(request, console, store, job_id, job_asks.cancel)


@post("/jobs/{job_id:str}/cancel", **permission(Permission.JOBS_WRITE, audit="job.cancel"))
async def cancel_live_job(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Confirmed,
) -> Response[Any]:
    """Waiting -> cancelled; a running job is asked to stop, if that is what the operator was shown."""
    only = WAITING if data.state in WAITING else LIVE
    action = operations.cancel(job_id, operation=f"cancel-{data.operation}", only=only)
    try:
        answer = await carried_out(store, job_id, action, undone="cancelled")
    except MovedOn as moved:
        return await _ask_again(request, console, store, job_asks.cancel, moved)
    log.info(events.JOB_CANCEL_ASKED, job_id=job_id, user=identity_of(request).username)
    runs = (await store.run(reads.job(job_id))).state is JobState.RUNNING
    action_of(request).note(asked_to_stop=runs)
    told = "Asked to stop: its worker hears of it within seconds." if runs else "Cancelled: the job will not run."
    return _done(request, console, live, job_id, answer, told, "The job was cancelled already.")


@get("/jobs/{job_id:str}/delete", **permission(Permission.JOBS_WRITE))
async def confirm_delete(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """Shows what would be deleted."""
    return await _ask(request, console, store, job_id, job_asks.delete)


@post("/jobs/{job_id:str}/delete", **permission(Permission.JOBS_WRITE, audit="job.delete"))
async def delete_job(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
    data: Confirmed,
) -> Response[Any]:
    """Removes the job with its history while it is in the state it was shown in; a running one is refused."""
    try:
        job = await store.run(reads.job(job_id))
    except JobNotFound:
        if not data.state:
            raise
        return console.go(request, "/console/jobs", Flash("good", f"Job {job_id} was deleted already."))
    try:
        await carried_out(store, job_id, operations.delete(job_id, only=data.shown()), undone="deleted")
    except MovedOn as moved:
        return await _ask_again(request, console, store, job_asks.delete, moved)
    action_of(request).note(queue=job.queue, type=job.type, state=job.state.value)
    log.info(events.JOB_DELETED, job_id=job_id, user=identity_of(request).username)
    live.nudge()
    told = Flash("good", f"Deleted job {job_id} ({job.type}).")
    return console.go(request, f"/console/queues/{job.queue}?state={job.state.value}", told)


async def tell_moved(request: ConsoleRequest, console: Console, store: Store, moved: MovedOn) -> Response[Any]:
    """The job's page as it is now, with what was not done; for htmx, whose page is live, that message alone."""
    if htmx.is_htmx(request):
        raise moved
    return await job_page(
        request, console, store, moved.job_id, told=Flash("bad", f"The job has moved on. {moved.told}"), status=409
    )


def _done(
    request: ConsoleRequest, console: Console, live: Live, job_id: str, answer: Answer, told: str, before: str
) -> Response[Any]:
    """Back to the job's page, with what was done now, or before by the same form."""
    live.nudge()
    is_new = answer is not Answer.ALREADY_DONE
    return console.go(request, f"/console/jobs/{job_id}", Flash("good", told if is_new else before))


async def _ask(
    request: ConsoleRequest, console: Console, store: Store, job_id: str, question: Callable[[Job, datetime], Ask]
) -> Response[str]:
    snapshot = await read_snapshot(store)
    page = question(await store.run(reads.job(job_id)), snapshot.now)
    return console.page(request, "pages/job/ask.html", page, _asks_at(page), snapshot=snapshot)


async def _ask_again(
    request: ConsoleRequest,
    console: Console,
    store: Store,
    question: Callable[[Job, datetime], Ask],
    moved: MovedOn,
) -> Response[str]:
    """The question in its place, answered: the job has moved on."""
    snapshot = await read_snapshot(store)
    page = replace(question(moved.job, snapshot.now), refused=moved.told)
    response = console.page(request, "pages/job/ask.html", page, _asks_at(page), snapshot=snapshot, status=409)
    response.headers.update(htmx.ask_again_headers())
    return response


def _asks_at(page: Ask) -> Place:
    return Place(f"{page.does} {page.id[:8]}", "jobs")
