"""What is done to one job from its page: retry, run again, let go early, cancel, delete.

Each is done once however often it is sent, and says so truly when the job has moved on since it was shown: then nothing
is done, and the audit trail has it as refused.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge.errors import JobNotFound
from leaseforge.jobs import Job, JobState
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console import htmx
from leaseforge_console.console import Place
from leaseforge_console.forms import FromForm
from leaseforge_console.moved_on import MovedOn, Otherwise, carried_out
from leaseforge_console.pages import job as job_page
from leaseforge_console.views import job_asks
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.job import ActionSent
from leaseforge_console.views.job_asks import LIVE, WAITING, Answered, Ask
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit

Question = Callable[[Job, datetime], Ask]


async def told_on_its_page(visit: Visit, moved: MovedOn) -> Response[Any] | None:
    """The job's page as it is now, with what was not done; for htmx, whose page is live, that message alone."""
    if htmx.is_htmx(visit.request):
        return None
    told = Flash("bad", f"The job has moved on. {moved.told}")
    return await visit.show("pages/job/show.html", job_page.watched(visit, moved.job_id), status=409, told=told)


def asked_again(question: Question) -> Otherwise:
    """The question in its place, answered: the job has moved on."""

    async def ask(visit: Visit, moved: MovedOn) -> Response[Any]:
        snapshot = await visit.snapshot()
        return _question(visit, replace(question(moved.job, snapshot.now), refused=moved.told), snapshot, status=409)

    return ask


@post("/jobs/{job_id:str}/retry", **permission(Permission.JOBS_WRITE, audit="job.retry"))
async def retry_job(visit: NamedDependency[Visit], job_id: FromPath[str], data: FromForm[ActionSent]) -> Response[Any]:
    """Dead -> ready, with fresh budgets."""
    action = operations.retry(job_id, operation=data.operation)
    is_new = await carried_out(
        visit, job_id, action, events.JOB_REPLAYED, undone="put back", otherwise=told_on_its_page
    )
    told = "Put back: the next free worker takes the job." if is_new else "The job was put back already."
    return visit.go(f"/console/jobs/{job_id}", told)


@post("/jobs/{job_id:str}/promote", **permission(Permission.DELAYED_WRITE, audit="job.promote"))
async def promote_now(
    visit: NamedDependency[Visit], job_id: FromPath[str], data: FromForm[ActionSent]
) -> Response[Any]:
    """Scheduled, retrying -> ready, behind what is ready at its priority already."""
    # The verb is part of the name: the same revision may be offered for another action, too.
    action = operations.promote(job_id, operation=f"promote-{data.operation}")
    is_new = await carried_out(
        visit, job_id, action, events.JOB_PROMOTED, undone="promoted", otherwise=told_on_its_page
    )
    told = "Ready to run: the next free worker takes the job." if is_new else "The job was promoted already."
    return visit.go(f"/console/jobs/{job_id}", told)


@get("/jobs/{job_id:str}/requeue", **permission(Permission.JOBS_WRITE))
async def confirm_requeue(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """Shows what would run once more."""
    return await _ask(visit, job_id, job_asks.requeue)


@post("/jobs/{job_id:str}/requeue", **permission(Permission.JOBS_WRITE, audit="job.requeue"))
async def requeue_job(visit: NamedDependency[Visit], job_id: FromPath[str], data: FromForm[Answered]) -> Response[Any]:
    """Completed, cancelled, dead -> ready; its result is cleared."""
    action, again = operations.requeue(job_id, operation=f"requeue-{data.operation}"), asked_again(job_asks.requeue)
    is_new = await carried_out(visit, job_id, action, events.JOB_REPLAYED, undone="put back", otherwise=again)
    told = "Put back: it runs once more as soon as a worker is free." if is_new else "The job was put back already."
    return visit.go(f"/console/jobs/{job_id}", told)


@get("/jobs/{job_id:str}/cancel", **permission(Permission.JOBS_WRITE))
async def confirm_cancel_job(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """Shows what a cancellation means for the job as it stands."""
    return await _ask(visit, job_id, job_asks.cancel)


@post("/jobs/{job_id:str}/cancel", **permission(Permission.JOBS_WRITE, audit="job.cancel"))
async def cancel_live_job(
    visit: NamedDependency[Visit], job_id: FromPath[str], data: FromForm[Answered]
) -> Response[Any]:
    """Waiting -> cancelled; a running job is asked to stop, if that is what the operator was shown."""
    only, again = WAITING if data.state in WAITING else LIVE, asked_again(job_asks.cancel)
    action = operations.cancel(job_id, operation=f"cancel-{data.operation}", only=only)
    is_new = await carried_out(visit, job_id, action, events.JOB_CANCEL_ASKED, undone="cancelled", otherwise=again)
    runs = (await visit.store.run(reads.job(job_id))).state is JobState.RUNNING
    visit.note(asked_to_stop=runs)
    told = "Asked to stop: its worker hears of it within seconds." if runs else "Cancelled: the job will not run."
    return visit.go(f"/console/jobs/{job_id}", told if is_new else "The job was cancelled already.")


@get("/jobs/{job_id:str}/delete", **permission(Permission.JOBS_WRITE))
async def confirm_delete(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """Shows what would be deleted."""
    return await _ask(visit, job_id, job_asks.delete)


@post("/jobs/{job_id:str}/delete", **permission(Permission.JOBS_WRITE, audit="job.delete"))
async def delete_job(visit: NamedDependency[Visit], job_id: FromPath[str], data: FromForm[Answered]) -> Response[Any]:
    """Removes the job with its history while it is in the state it was shown in; a running one is refused."""
    try:
        job = await visit.store.run(reads.job(job_id))
    except JobNotFound:
        if not data.state:
            raise
        return visit.go("/console/jobs", f"Job {job_id} was deleted already.")
    action, again = operations.delete(job_id, only=data.shown()), asked_again(job_asks.delete)
    await carried_out(visit, job_id, action, events.JOB_DELETED, undone="deleted", otherwise=again)
    visit.note(queue=job.queue, type=job.type, state=job.state.value)
    return visit.go(f"/console/queues/{job.queue}?state={job.state.value}", f"Deleted job {job_id} ({job.type}).")


async def _ask(visit: Visit, job_id: str, question: Question) -> Response[str]:
    snapshot = await visit.snapshot()
    return _question(visit, question(await visit.store.run(reads.job(job_id)), snapshot.now), snapshot)


def _question(visit: Visit, page: Ask, snapshot: Snapshot, *, status: int = 200) -> Response[str]:
    place = Place(f"{page.does} {page.id[:8]}", "jobs")
    return visit.question("pages/job/ask.html", page, place, snapshot, status=status)
