"""TaskForge's paths, for programs written for it: same methods, fields, status words and codes, and a bearer token.

Errors are the documents of the other routes with TaskForge's `error` beside.
"""

from typing import Annotated, Any

import msgspec
import structlog
from litestar import Request, Response, Router, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter

from leaseforge import events, operations, reads
from leaseforge.calls import Batch, Plan
from leaseforge.errors import BadInput, FieldProblem, JobNotFound
from leaseforge.filters import Filter
from leaseforge.jobs import Job, JobState
from leaseforge.requests import is_job_id
from leaseforge.searching import search
from leaseforge.store import Store
from leaseforge_api.bodies import JsonBody, read_json
from leaseforge_api.coalescing import Coalescing
from leaseforge_api.one_job import ONE_JOB, OneJob
from leaseforge_api.problems import MEDIA_TYPE, problem_of
from leaseforge_api.routes.jobs import readable, trace_of
from leaseforge_api.schemas.jobs import IdempotencyKey, job_from
from leaseforge_api.schemas.taskforge import TaskForgeEnqueue, TaskForgeJob, taskforge_job
from leaseforge_auth.guards import AUTH, permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

MAX_BODY_BYTES = 1024 * 1024
MAX_LISTED = 100

log = structlog.get_logger()


class AnyTypeBody(JsonBody[TaskForgeEnqueue]):
    """JSON whatever it is declared as: TaskForge never asked, and a bearer token is no cookie to be misused."""

    def decode_bytes(self, value: bytes) -> TaskForgeEnqueue:
        """The body as a request. Raises BadInput."""
        return read_json(value, TaskForgeEnqueue)


def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[dict[str, Any]]:
    """The problem document with the member TaskForge's clients look for."""
    problem, headers = problem_of(request, error)
    said = "job not found" if isinstance(error, JobNotFound) else problem.detail
    document = msgspec.to_builtins(problem) | {"error": said}
    return Response(document, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


@post(
    "/enqueue",
    summary="Enqueue a TaskForge job",
    status_code=200,
    media_type="text/plain",
    dto=AnyTypeBody,
    request_max_body_size=MAX_BODY_BYTES,
    **permission(Permission.JOBS_ENQUEUE),
)
async def enqueue(
    data: JSONBody[TaskForgeEnqueue],
    request: Request[Identity, Any, Any],
    coalescing: NamedDependency[Coalescing],
    identity: NamedDependency[Identity],
    idempotency_key: IdempotencyKey = None,
) -> Response[str]:
    """Stores a job in the queue `default`: 200 and a line of text; its id is in `X-Job-Id` and `Location`."""
    job = job_from(
        data.job_request(),
        created_by=identity.username,
        idempotency_key=idempotency_key,
        trace=trace_of(request),
    )
    accepted = await coalescing.enqueue(job)
    log.info(events.JOB_ENQUEUED, job_id=accepted.id, queue=accepted.queue, created=accepted.is_new)
    headers = {"Location": f"{request.app.state.root_path}/jobs/{accepted.id}", "X-Job-Id": accepted.id}
    return Response("job enqueued\n", media_type="text/plain", headers=headers)


@get("/jobs/{job_id:str}", summary="Show a TaskForge job", **permission(Permission.JOBS_READ, Permission.JOBS_READ_OWN))
async def show(
    job_id: FromPath[str], store: NamedDependency[Store], identity: NamedDependency[Identity]
) -> TaskForgeJob:
    """One job, whatever its queue; 400 for what cannot be an id. A producer sees its own jobs only."""
    if not is_job_id(job_id):
        raise BadInput([FieldProblem("id", "must be a UUID in lower-case hex with hyphens")])
    return taskforge_job(await readable(job_id, store, identity), identity)


@get("/dlq", summary="List dead TaskForge jobs", **permission(Permission.DLQ_READ))
async def dead(
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    limit: Annotated[int, QueryParameter(ge=1, le=MAX_LISTED, description="How many at most.")] = MAX_LISTED,
) -> list[TaskForgeJob]:
    """The dead jobs of all queues, newest first."""
    return [taskforge_job(job, identity) for job in await store.run(_dead(limit))]


@post(
    "/dlq/{job_id:str}/retry",
    summary="Retry a dead TaskForge job",
    status_code=200,
    **permission(Permission.DLQ_WRITE, audit="dlq.retry"),
)
async def retry(job: NamedDependency[OneJob]) -> TaskForgeJob:
    """Gives a dead job back to its queue with a fresh budget; 409 if it is not dead."""
    await job.act("retry", operations.retry, events.JOB_REPLAYED)
    return taskforge_job(await job.store.run(reads.job(job.id)), job.identity)


def _dead(limit: int) -> Plan[list[Job]]:
    """Dead jobs with their payloads, those that are still dead when they are read."""
    found = yield from search(Filter(states=(JobState.DEAD,)), limit=limit)
    whole = yield from Batch([reads.job_call(job.queue, job.id) for job in found.items])
    return [job for job in whole if job is not None and job.state is JobState.DEAD]


router = Router(
    "/",
    route_handlers=[enqueue, show, dead, retry],
    dependencies=ONE_JOB,
    exception_handlers={Exception: answer_error},
    opt={AUTH: "bearer"},
    tags=["taskforge"],
)
