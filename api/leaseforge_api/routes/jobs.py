"""Enqueueing jobs, looking at one, retrying and deleting it."""

import re
import uuid
from typing import Annotated, Any

import structlog
from litestar import Request, Response, Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, HeaderParameter, JSONBody
from msgspec import UNSET

from leaseforge import events, limits, operations, reads
from leaseforge.answers import Answer
from leaseforge.errors import BadInput, FieldProblem, JobNotFound, PayloadTooLarge
from leaseforge.jobs import NewJob
from leaseforge.store import Store
from leaseforge_api.bodies import MAX_BULK_BODY_BYTES, MAX_PROBLEMS, JsonBody, check_depth
from leaseforge_api.coalescing import Coalescing
from leaseforge_api.schemas.job import JobShown, gone_job_shown, job_shown, revealed_contents
from leaseforge_api.schemas.jobs import (
    BulkAnswer,
    BulkRequest,
    BulkResult,
    JobRequest,
    RetryRequest,
    Revealed,
    RevealRequest,
    job_from,
)
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_REFUSED = "the Idempotency-Key was used for another job within 24 h"

IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=limits.MAX_KEY_BYTES,
        description="Makes a repeat of the request safe for 24 h: the first answer's job is answered again.",
    ),
]

log = structlog.get_logger()


@post("/", dto=JsonBody[JobRequest], **permission(Permission.JOBS_ENQUEUE))
async def enqueue(
    data: JSONBody[JobRequest],
    request: Request[Identity, Any, Any],
    coalescing: NamedDependency[Coalescing],
    identity: NamedDependency[Identity],
    idempotency_key: IdempotencyKey = None,
) -> Response[JobShown]:
    """Stores a job: 201 with the job; 200 with the first one when the key was used for the very same job before."""
    job = job_from(
        data, created_by=identity.username, idempotency_key=idempotency_key, traceparent=_traceparent(request)
    )
    accepted = await coalescing.enqueue(job)
    log.info(events.JOB_ENQUEUED, job_id=accepted.id, queue=accepted.queue, created=accepted.is_new)
    shown = gone_job_shown(job, accepted.id) if accepted.job is None else _shown_to(identity, accepted.job)
    location = f"{request.app.state.root_path}/api/jobs/{accepted.id}"
    return Response(shown, status_code=201 if accepted.is_new else 200, headers={"Location": location})


@post(
    "/bulk",
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
    jobs = _checked(data, identity, idempotency_key, _traceparent(request))
    enqueued = await store.run(operations.enqueue_many(jobs))
    results = [BulkResult(one.id, one.answer, _REFUSED if one.answer is Answer.REFUSED else None) for one in enqueued]
    created = sum(one.answer is Answer.CREATED for one in enqueued)
    log.info(events.JOBS_ENQUEUED, jobs=len(enqueued), created=created)
    return BulkAnswer([one.id for one in enqueued], results)


@get("/{job_id:str}", **permission(Permission.JOBS_READ, Permission.JOBS_READ_OWN))
async def show(job_id: FromPath[str], store: NamedDependency[Store], identity: NamedDependency[Identity]) -> JobShown:
    """One job by its id, whatever its queue. A producer sees its own jobs only."""
    job = await store.run(reads.job(job_id))
    if not identity.can(Permission.JOBS_READ) and job.created_by != identity.username:
        raise JobNotFound(job_id)
    return _shown_to(identity, job)


@post(
    "/{job_id:str}/retry",
    status_code=200,
    dto=JsonBody[RetryRequest],
    **permission(Permission.JOBS_WRITE, audit="job.retry"),
)
async def retry(
    job_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    idempotency_key: IdempotencyKey = None,
    data: JSONBody[RetryRequest | None] = None,
) -> JobShown:
    """Gives a dead job back to its queue with a fresh budget; the same key again changes nothing."""
    asked = data or RetryRequest()
    payload = None if asked.payload is UNSET else bytes(asked.payload)
    if payload is not None:
        check_depth(payload, "payload")
    # A caller's key counts for this caller and job only, so it needs no bound but its length.
    key = f"{identity.username}\0{job_id}\0{idempotency_key}" if idempotency_key else uuid.uuid4().hex
    operation = uuid.uuid5(uuid.NAMESPACE_OID, key).hex
    await store.run(operations.retry(job_id, operation=operation, payload=payload))
    log.info(events.JOB_REPLAYED, job_id=job_id, user=identity.username, reason=asked.reason)
    return _shown_to(identity, await store.run(reads.job(job_id)))


@post(
    "/{job_id:str}/reveal",
    status_code=200,
    dto=JsonBody[RevealRequest],
    **permission(Permission.PAYLOADS_REVEAL, audit="job.reveal"),
)
async def reveal(job_id: FromPath[str], data: JSONBody[RevealRequest], store: NamedDependency[Store]) -> Revealed:
    """Payload and result with nothing masked. That it was asked for, by whom and why is in the audit trail."""
    return Revealed(**revealed_contents(await store.run(reads.job(job_id))))


@delete("/{job_id:str}", **permission(Permission.JOBS_WRITE, audit="job.delete"))
async def remove(job_id: FromPath[str], store: NamedDependency[Store], identity: NamedDependency[Identity]) -> None:
    """Removes a job with its history; one that is running is refused."""
    await store.run(operations.delete(job_id))
    log.info(events.JOB_DELETED, job_id=job_id, user=identity.username)


def _shown_to(identity: Identity, job: Any) -> JobShown:
    """The job as this caller may see it: payloads need their own permission, or to be one's own."""
    is_own = job.created_by == identity.username
    return job_shown(job, with_payload=is_own or identity.can(Permission.PAYLOADS_READ))


def _checked(data: BulkRequest, identity: Identity, key: str | None, traceparent: str | None) -> list[NewJob]:
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
                    traceparent=traceparent,
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


def _traceparent(request: Request[Any, Any, Any]) -> str | None:
    """The caller's trace, if the header is well formed; a broken one is no reason to refuse a job."""
    sent = request.headers.get("traceparent", "")
    return sent if _TRACEPARENT.fullmatch(sent) else None


router = Router("/jobs", route_handlers=[enqueue, enqueue_many, show, retry, reveal, remove], tags=["jobs"])
