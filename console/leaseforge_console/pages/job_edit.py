"""Retrying a dead job with another payload: an editor, what would change, and the retry itself."""

import asyncio
import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import InvalidTransition
from leaseforge.jobs import Job, JobState
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.forms import sent_by
from leaseforge_console.json_text import Fault
from leaseforge_console.live import Live, read_snapshot
from leaseforge_console.pages.job_actions import tell_moved
from leaseforge_console.pages.moved_on import MovedOn, carried_out
from leaseforge_console.views import job_edit as view
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.job_asks import standing
from leaseforge_console.views.snapshot import Snapshot

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Typed:
    """What was sent: the text, and the revision of the job it was made from."""

    text: str
    operation: str
    does: str


@get("/jobs/{job_id:str}/edit", **permission(Permission.JOBS_WRITE))
async def edit_payload(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """The payload in an editor."""
    job, snapshot = await _read(request, store, job_id)
    page = await asyncio.to_thread(view.editor, job, snapshot.now)
    return console.page(request, "pages/job/edit.html", page, _place(job), snapshot=snapshot)


@post("/jobs/{job_id:str}/edit", **permission(Permission.JOBS_WRITE))
async def show_changes(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], job_id: FromPath[str]
) -> Response[str]:
    """What a retry with this text would change, or what is wrong with the text. Changes nothing yet."""
    typed = await _typed(request)
    job, snapshot = await _read(request, store, job_id)
    if view.refusal(job, snapshot.now) or f"rev-{job.rev}" != typed.operation:
        return await _edit_again(request, console, job, snapshot, typed, _moved_since(job, snapshot.now))
    done = await asyncio.to_thread(view.edited, job, typed.text)
    if done.fault or typed.does == "back":
        return await _edit_again(request, console, job, snapshot, typed, done.fault)
    page = await asyncio.to_thread(view.preview, job, typed.text, done)
    return console.page(request, "pages/job/changes.html", page, _place(job), snapshot=snapshot)


@post("/jobs/{job_id:str}/edit/retry", **permission(Permission.JOBS_WRITE, audit="job.retry"))
async def retry_edited(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    job_id: FromPath[str],
) -> Response[Any]:
    """Dead -> ready with the edited payload, if the job is still the one that was edited; done once."""
    typed = await _typed(request)
    job, snapshot = await _read(request, store, job_id)
    digest = hashlib.sha256(typed.text.encode(errors="replace")).hexdigest()[:16]
    operation, payload = f"{typed.operation[:40]}-{digest}", None
    if job.state is JobState.DEAD:
        if f"rev-{job.rev}" != typed.operation:
            error = InvalidTransition(job_id, job.state, "retry")
            return await tell_moved(request, console, store, MovedOn(error, job, str(_moved_since(job, snapshot.now))))
        if refused := view.refusal(job, snapshot.now):
            return await _edit_again(request, console, job, snapshot, typed, Fault(refused))
        done = await asyncio.to_thread(view.edited, job, typed.text)
        if done.fault:
            return await _edit_again(request, console, job, snapshot, typed, done.fault)
        payload = None if done.is_same else done.payload
        action_of(request).note(payload_changed=not done.is_same, bytes_before=len(job.payload or b""))
    # A job that is not dead any more has been put back, by this very form or otherwise: the engine knows which.
    action = operations.retry(job_id, operation=operation, payload=payload)
    try:
        answer = await carried_out(store, job_id, action, undone="put back")
    except MovedOn as moved:
        return await tell_moved(request, console, store, moved)
    log.info(events.JOB_REPLAYED, job_id=job_id, user=identity_of(request).username)
    live.nudge()
    how = "as it was" if payload is None else "with the new payload"
    told = "The job was put back already." if answer is Answer.ALREADY_DONE else f"Put back {how}."
    return console.go(request, f"/console/jobs/{job_id}", Flash("good", told))


async def _typed(request: ConsoleRequest) -> _Typed:
    form = await sent_by(request)
    return _Typed(form.lines("payload"), form.text("operation"), form.text("does"))


async def _read(request: ConsoleRequest, store: Store, job_id: str) -> tuple[Job, Snapshot]:
    """The job as it is now. Raises NotPermitted: who may not read a payload cannot edit it."""
    if not identity_of(request).can(Permission.PAYLOADS_READ):
        raise NotPermitted(Permission.PAYLOADS_READ)
    return await store.run(reads.job(job_id)), await read_snapshot(store)


async def _edit_again(
    request: ConsoleRequest, console: Console, job: Job, snapshot: Snapshot, typed: _Typed, fault: Fault | None
) -> Response[str]:
    """The editor with what was typed: as it was left, or with what is wrong with it."""
    page = await asyncio.to_thread(view.editor, job, snapshot.now, text=typed.text, fault=fault)
    status = 200 if fault is None else 409 if page.refused else 422
    return console.page(request, "pages/job/edit.html", page, _place(job), snapshot=snapshot, status=status)


def _moved_since(job: Job, now: datetime) -> Fault:
    return Fault(f"It {standing(job, now)}, after it was put back since you began to edit: nothing was put back")


def _place(job: Job) -> Place:
    return Place(f"Edit job {job.id[:8]}", "jobs")
