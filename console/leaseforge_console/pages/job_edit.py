"""Retrying a dead job with another payload: an editor, what would change, and the retry itself."""

import asyncio
import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge.jobs import Job, JobState
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.json_text import Fault
from leaseforge_console.moved_on import MovedOn, carried_out, refuse
from leaseforge_console.pages.job_actions import told_on_its_page
from leaseforge_console.views import job_edit as view
from leaseforge_console.views.job_asks import standing
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit


@dataclass(frozen=True, slots=True)
class _Typed:
    """What was sent: the text, and the revision of the job it was made from."""

    text: str
    operation: str
    does: str


@get("/jobs/{job_id:str}/edit", **permission(Permission.JOBS_WRITE))
async def edit_payload(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """The payload in an editor."""
    job, snapshot = await _read(visit, job_id)
    page = await asyncio.to_thread(view.editor, job, snapshot.now)
    return visit.page("pages/job/edit.html", page, _place(job), snapshot)


@post("/jobs/{job_id:str}/edit", **permission(Permission.JOBS_WRITE))
async def show_changes(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """What a retry with this text would change, or what is wrong with the text. Changes nothing yet."""
    typed = await _typed(visit)
    job, snapshot = await _read(visit, job_id)
    if view.refusal(job, snapshot.now) or f"rev-{job.rev}" != typed.operation:
        return await _edit_again(visit, job, snapshot, typed, _moved_since(job, snapshot.now))
    done = await asyncio.to_thread(view.edited, job, typed.text)
    if done.fault or typed.does == "back":
        return await _edit_again(visit, job, snapshot, typed, done.fault)
    page = await asyncio.to_thread(view.preview, job, typed.text, done)
    return visit.page("pages/job/changes.html", page, _place(job), snapshot)


@post("/jobs/{job_id:str}/edit/retry", **permission(Permission.JOBS_WRITE, audit="job.retry"))
async def retry_edited(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[Any]:
    """Dead -> ready with the edited payload, if the job is still the one that was edited; done once."""
    typed = await _typed(visit)
    job, snapshot = await _read(visit, job_id)
    digest = hashlib.sha256(typed.text.encode(errors="replace")).hexdigest()[:16]
    operation, payload = f"{typed.operation[:40]}-{digest}", None
    if job.state is JobState.DEAD:
        if f"rev-{job.rev}" != typed.operation:
            moved = MovedOn(job, "retry", str(_moved_since(job, snapshot.now)))
            await refuse(visit, moved, told_on_its_page)
        if refused := view.refusal(job, snapshot.now):
            return await _edit_again(visit, job, snapshot, typed, Fault(refused))
        done = await asyncio.to_thread(view.edited, job, typed.text)
        if done.fault:
            return await _edit_again(visit, job, snapshot, typed, done.fault)
        payload = None if done.is_same else done.payload
        visit.note(payload_changed=not done.is_same, bytes_before=len(job.payload or b""))
    # A job that is not dead any more has been put back, by this very form or otherwise: the engine knows which.
    action = operations.retry(job_id, operation=operation, payload=payload)
    is_new = await carried_out(
        visit, job_id, action, events.JOB_REPLAYED, undone="put back", otherwise=told_on_its_page
    )
    how = "as it was" if payload is None else "with the new payload"
    return visit.go(f"/console/jobs/{job_id}", f"Put back {how}." if is_new else "The job was put back already.")


async def _typed(visit: Visit) -> _Typed:
    form = await visit.sent()
    return _Typed(form.lines("payload"), form.text("operation"), form.text("does"))


async def _read(visit: Visit, job_id: str) -> tuple[Job, Snapshot]:
    """The job as it is now. Raises NotPermitted: who may not read a payload cannot edit it."""
    if not visit.identity.can(Permission.PAYLOADS_READ):
        raise NotPermitted(Permission.PAYLOADS_READ)
    return await visit.store.run(reads.job(job_id)), await visit.snapshot()


async def _edit_again(visit: Visit, job: Job, snapshot: Snapshot, typed: _Typed, fault: Fault | None) -> Response[str]:
    """The editor with what was typed: as it was left, or with what is wrong with it."""
    page = await asyncio.to_thread(view.editor, job, snapshot.now, text=typed.text, fault=fault)
    status = 200 if fault is None else 409 if page.refused else 422
    return visit.page("pages/job/edit.html", page, _place(job), snapshot, status=status)


def _moved_since(job: Job, now: datetime) -> Fault:
    return Fault(f"It {standing(job, now)}, after it was put back since you began to edit: nothing was put back")


def _place(job: Job) -> Place:
    return Place(f"Edit job {job.id[:8]}", "jobs")
