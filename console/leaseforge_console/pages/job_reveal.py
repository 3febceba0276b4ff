"""Masked values shown to somebody who says why: once, kept nowhere, and written down."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import reads
from leaseforge.requests import JSON
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place, audit_entry
from leaseforge_console.pages.job_content import file_of
from leaseforge_console.views import job_reveal as view
from leaseforge_console.visit import Visit


@get("/jobs/{job_id:str}/reveal", **permission(Permission.PAYLOADS_REVEAL))
async def ask_to_reveal(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[str]:
    """Asks for a reason."""
    return await _ask(visit, view.form(await visit.store.run(reads.job(job_id))))


@post("/jobs/{job_id:str}/reveal", **permission(Permission.PAYLOADS_REVEAL, audit="job.reveal"))
async def reveal_job(visit: NamedDependency[Visit], job_id: FromPath[str]) -> Response[Any]:
    """Shows payload and result with nothing masked, or sends one of them as a file."""
    form = await visit.sent()
    reason, whole = form.text("reason"), form.text("whole")
    job = await visit.store.run(reads.job(job_id))
    if problem := view.problem_of(reason):
        return await _ask(visit, view.form(job, reason, problem))
    visit.note(shown=whole if whole in view.WHOLE else "page")
    if whole == "payload":
        return file_of(job.payload, job.content_type, job_id=job.id, what=whole, reveal=True)
    if whole == "result":
        return file_of(job.result, JSON, job_id=job.id, what=whole, reveal=True)
    page = view.revealed(job, reason, audit_entry(visit.request))
    where = Place(f"Job {job.id[:8]}, revealed", "jobs")
    return visit.page("pages/job/revealed.html", page, where, await visit.snapshot())


async def _ask(visit: Visit, form: view.RevealForm) -> Response[str]:
    where = Place(f"Reveal job {form.id[:8]}", "jobs")
    status = 422 if form.problem else 200
    return visit.page("pages/job/reveal.html", form, where, await visit.snapshot(), status=status)
