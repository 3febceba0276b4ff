"""Submitting one job by hand."""

import asyncio
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery

from leaseforge import events, forms, limits, operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import BadInput, IdempotencyConflict
from leaseforge.filters import Filter
from leaseforge.jobs import Job
from leaseforge.searching import search
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.forms import by_field
from leaseforge_console.views import new_job as view
from leaseforge_console.views.payload_form import PayloadForm, payload_form, payload_of, texts_of
from leaseforge_console.visit import Visit

PLACE = Place("New job", "jobs")


@get("/jobs/new", **permission(Permission.JOBS_ENQUEUE))
async def ask_for_job(
    visit: NamedDependency[Visit], queue: FromQuery[str] = "", type: FromQuery[str] = "", like: FromQuery[str] = ""
) -> Response[str]:
    """The form: blank, for a queue or type, or filled in like a job there is."""
    identity = visit.identity
    if like and identity.can(Permission.PAYLOADS_READ) and identity.can(Permission.JOBS_READ):
        typed = await asyncio.to_thread(view.like, await visit.store.run(reads.job(like)))
        return await _filled_in(visit, typed)
    typed = view.blank(queue=queue[:64], job_type=type[: limits.MAX_TYPE_BYTES])
    return await _form(visit, typed, fields=await _fields(visit.store, typed["type"]))


@post("/jobs/new", **permission(Permission.JOBS_ENQUEUE))
async def make_job(visit: NamedDependency[Visit]) -> Response[Any]:
    """Submits the job, once for each form; or shows the payload otherwise, or that of the last job of its type."""
    form = await visit.sent()
    texts = {name: form.text(name).strip() for name in view.TEXTS}
    of = form.text("fields_of")
    typed = view.Typed(form.text("key"), "{}" if of else form.lines("payload"), texts)
    fields = await _fields(visit.store, of)
    wrong: dict[str, str] = {}
    if fields is not None:
        typed = typed.but(texts={one.sent_as: form.lines(one.sent_as) for one in fields.fields})
        payload, wrong = await asyncio.to_thread(payload_of, fields, typed.texts)
        typed = typed.but(payload=payload or "{}")
    match form.text("does"):
        case "example":
            return await _with_example(visit, typed)
        case "json":
            told = "Some fields were left out: what they hold is not right." if wrong else ""
            return await _form(visit, typed, note=told)
        case "fields":
            return await _with_fields(visit, typed)
    if of != (typed["type"] if fields else ""):
        note = "The type is another one, or its task has changed: look at the payload again."
        others = await _fields(visit.store, typed["type"])
        return await _form(visit, typed, status=409, note=note, fields=others)
    fault = await asyncio.to_thread(view.fault_of, typed.payload)
    try:
        job = view.job_from(typed, created_by=visit.user)
        if fault is not None or wrong:
            raise BadInput([])
        before = await visit.snapshot()
        enqueued = await visit.store.run(operations.enqueue(job))
    except BadInput as error:
        problems = {name: told for name, told in by_field(error).items() if name != "payload"}
        # A fault of the whole has a place in its JSON, and none among the fields.
        shown = None if fault is not None and not wrong else fields
        problems |= wrong
        return await _form(visit, typed, status=422, problems=problems, fault=fault, fields=shown)
    except IdempotencyConflict as error:
        note = f"This form was submitted before, with something else in it: as job {error.job_id}. "
        note += "Submit it again to make another job of what it holds now."
        again = view.Typed(view.blank().key, typed.payload, typed.texts)
        return await _form(visit, again, status=409, note=note, fields=fields)
    is_new = enqueued.answer is Answer.CREATED
    visit.did(events.JOB_ENQUEUED, job_id=enqueued.id, queue=enqueued.queue, created=is_new)
    told = view.told(job, enqueued.id, before, is_new=is_new)
    if visit.identity.can(Permission.JOBS_READ):
        return visit.go(f"/console/jobs/{enqueued.id}", told)
    # A producer has no page of the job to go to.
    return visit.go("/console/jobs/new", f"Submitted as job {enqueued.id}.")


async def _with_example(visit: Visit, typed: view.Typed) -> Response[str]:
    found = await _last_of(visit.store, typed["type"]) if _may_see_examples(visit) and typed["type"] else None
    example = await asyncio.to_thread(view.example_of, found) if found else ""
    if example:
        note = "The payload is that of the last job of this type, as far as it may be seen."
        return await _filled_in(visit, typed.but(payload=example), note=note)
    note = "There is no job of this type to take an example from." if typed["type"] else "Choose a type first."
    return await _form(visit, typed, note=note, fields=await _fields(visit.store, typed["type"]))


async def _with_fields(visit: Visit, typed: view.Typed) -> Response[str]:
    if not typed["type"]:
        return await _form(visit, typed, note="Choose a type first.")
    if await _fields(visit.store, typed["type"]) is None:
        note = "No worker has said what payloads of this type look like: it is typed as JSON."
        return await _form(visit, typed, note=note)
    return await _filled_in(visit, typed)


async def _filled_in(visit: Visit, typed: view.Typed, *, note: str = "") -> Response[str]:
    """The form with the payload in its fields, or as JSON where they could not show all of it."""
    fields = await _fields(visit.store, typed["type"])
    texts = await asyncio.to_thread(texts_of, fields, typed.payload) if fields else None
    if fields is not None and texts is None:
        note = f"{note} It holds what has no field, so it is typed as JSON.".strip()
    shown = fields if texts is not None else None
    return await _form(visit, typed.but(texts=texts or {}), note=note, fields=shown)


async def _fields(store: Store, job_type: str) -> PayloadForm | None:
    """The fields a type's payload has, as far as a worker has said so."""
    if not 0 < len(job_type.encode(errors="replace")) <= limits.MAX_TYPE_BYTES:
        return None
    return payload_form(job_type, await store.run(forms.form_of(job_type)))


async def _last_of(store: Store, job_type: str) -> Job | None:
    """A late job of the type, one that went well if there is one; looks at a bounded number of jobs."""
    for states in view.states_by_use():
        found = await store.run(search(Filter(type=job_type, states=states), limit=1))
        if found.items:
            return await store.run(reads.job(found.items[0].id))
    return None


def _may_see_examples(visit: Visit) -> bool:
    identity = visit.identity
    return identity.can(Permission.JOBS_READ) and identity.can(Permission.PAYLOADS_READ)


async def _form(visit: Visit, typed: view.Typed, *, status: int = 200, **more: Any) -> Response[str]:
    snapshot = await visit.snapshot()
    known = snapshot if visit.identity.can(Permission.QUEUES_READ) else None
    page = view.form(typed, known, offers_examples=_may_see_examples(visit), **more)
    return visit.page("pages/job/new.html", page, PLACE, known, status=status)
