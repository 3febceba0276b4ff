"""Enqueueing jobs, and looking at one."""

from typing import Any

import structlog
from litestar import Request, Response, Router, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from leaseforge import events, operations, reads, tracing
from leaseforge.answers import Answer
from leaseforge.errors import BadInput, FieldProblem, JobNotFound, PayloadTooLarge
from leaseforge.jobs import Job, NewJob
from leaseforge.store import Store
from leaseforge.trace_context import TraceContext, read_headers
from leaseforge_api.bodies import MAX_BULK_BODY_BYTES, MAX_PROBLEMS, JsonBody
from leaseforge_api.coalescing import Coalescing
from leaseforge_api.schemas.job import JobShown, LogLineShown, gone_job_shown, is_foreign, log_line_shown, shown_to
from leaseforge_api.schemas.jobs import BulkAnswer, BulkRequest, BulkResult, IdempotencyKey, JobRequest, job_from
from leaseforge_api.schemas.pages import Asked, Listed
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

_REFUSED = "the Idempotency-Key was used for another job within 24 h"

log = structlog.get_logger()


@post("/", summary="Enqueue a job", dto=JsonBody[JobRequest], **permission(Permission.JOBS_ENQUEUE))
async def enqueue(
    data: JSONBody[JobRequest],
    request: Request[Identity, Any, Any],
    coalescing: NamedDependency[Coalescing],
    idempotency_key: IdempotencyKey = None,
) -> Response[JobShown]:
    """Stores a job: 201 with the job; 200 with the first one when the key was used for the very same job before."""
    identity = request.user  # not injected: a second dependency makes the framework start tasks for both
    job = job_from(data, created_by=identity.username, idempotency_key=idempotency_key, trace=trace_of(request))
    accepted = await coalescing.enqueue(job)
    log.info(events.JOB_ENQUEUED, job_id=accepted.id, queue=accepted.queue, created=accepted.is_new)
    # A unique key may lead to another account's job: a producer is told what it asked for, and nothing of that one.
    if accepted.job is None or is_foreign(identity, accepted.job):
        shown = gone_job_shown(job, accepted.id)
    else:
        shown = shown_to(identity, accepted.job)
    location = f"{request.app.state.root_path}/api/jobs/{accepted.id}"
    return Response(shown, status_code=201 if accepted.is_new else 200, headers={"Location": location})


@post(
    "/bulk",
    summary="Enqueue many jobs",
    status_code=200,
    dto=JsonBody[BulkRequest],
    request_max_body_size=MAX_BULK_BODY_BYTES,
    **permission(Permission.JOBS_ENQUEUE),
)
async def enqueue_many(
    data: JSONBody[BulkRequest],
    request: Request[Identity, Any, Any],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    idempotency_key: IdempotencyKey = None,
) -> BulkAnswer:
    """Stores up to 1,000 jobs, each with an outcome of its own. One key covers all of them, each by its position."""
    jobs = _checked(data, identity, idempotency_key, trace_of(request))
    enqueued = await store.run(operations.enqueue_many(jobs))
    results = [BulkResult(one.id, one.answer, _REFUSED if one.answer is Answer.REFUSED else None) for one in enqueued]
    created = sum(one.answer is Answer.CREATED for one in enqueued)
    log.info(events.JOBS_ENQUEUED, jobs=len(enqueued), created=created)
    return BulkAnswer([one.id for one in enqueued], results)


@get("/{job_id:str}", summary="Show a job", **permission(Permission.JOBS_READ, Permission.JOBS_READ_OWN))
async def show(job_id: FromPath[str], store: NamedDependency[Store], identity: NamedDependency[Identity]) -> JobShown:
    """One job by its id, whatever its queue. A producer sees its own jobs only."""
    return shown_to(identity, await readable(job_id, store, identity))


@get(
    "/{job_id:str}/log", summary="List a job's log lines", **permission(Permission.JOBS_READ, Permission.JOBS_READ_OWN)
)
async def log_lines(
    job_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    page: NamedDependency[Asked],
) -> Listed[LogLineShown]:
    """What the job's attempts logged, oldest first; the last 200 lines are kept."""
    job = await readable(job_id, store, identity)
    lines = await store.run(reads.log(job.queue, job.id))
    return page.listed([log_line_shown(line) for line in page.part_of(lines)], len(lines))


async def readable(job_id: str, store: Store, identity: Identity) -> Job:
    """The job, if this caller may see it. Raises JobNotFound otherwise, whatever the reason."""
    job = await store.run(reads.job(job_id))
    if is_foreign(identity, job):
        raise JobNotFound(job_id)
    return job


def _checked(data: BulkRequest, identity: Identity, key: str | None, trace: TraceContext | None) -> list[NewJob]:
    """The engine's requests for all jobs of a bulk request. Raises BadInput with the problems of all of them."""
    jobs: list[NewJob] = []
    problems: list[FieldProblem] = []
    too_large = False
    for index, item in enumerate(data.jobs):
        try:
            jobs.append(
                job_from(
                    item,
                    created_by=identity.username,
                    idempotency_key=f"{key}#{index}" if key else None,
                    trace=trace,
                    place=f"jobs[{index}].",
                )
            )
        except BadInput as error:
            too_large = too_large or isinstance(error, PayloadTooLarge)
            problems += error.problems
            if len(problems) >= MAX_PROBLEMS:
                break
    if problems:
        raise (PayloadTooLarge if too_large else BadInput)(problems)
    return jobs


def trace_of(request: Request[Any, Any, Any]) -> TraceContext | None:
    """Whose trace the request's jobs carry: that of this request where it is recorded, else the caller's own."""
    headers = request.headers
    return tracing.current() or read_headers(headers.get("traceparent"), ",".join(headers.getall("tracestate", [])))


router = Router("/jobs", route_handlers=[enqueue, enqueue_many, show, log_lines], tags=["jobs"])
