"""What operators do to one job: retry, requeue, cancel, reveal, delete."""

from functools import partial

import structlog
from litestar import Router, delete, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import UNSET

from leaseforge import events, operations, reads
from leaseforge.json_depth import check_depth
from leaseforge.store import Store
from leaseforge_api.bodies import JsonBody
from leaseforge_api.one_job import ONE_JOB, OneJob
from leaseforge_api.schemas.job import JobShown, revealed_contents
from leaseforge_api.schemas.jobs import ActionRequest, RetryRequest, Revealed, RevealRequest
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

log = structlog.get_logger()


@post(
    "/{job_id:str}/retry",
    summary="Retry a job",
    status_code=200,
    dto=JsonBody[RetryRequest],
    **permission(Permission.JOBS_WRITE, audit="job.retry"),
)
async def retry(job: NamedDependency[OneJob], data: JSONBody[RetryRequest | None] = None) -> JobShown:
    """Gives a dead job back to its queue with a fresh budget; the same key again changes nothing."""
    return await retried(job, data)


async def retried(job: OneJob, asked: RetryRequest | None) -> JobShown:
    """Retries a dead job, with another payload where the caller sent one; the job after it."""
    payload = None if asked is None or asked.payload is UNSET else bytes(asked.payload)
    if payload is not None:
        check_depth(payload, "payload")
    return await job.acted_on("retry", partial(operations.retry, payload=payload), events.JOB_REPLAYED, asked)


@post(
    "/{job_id:str}/requeue",
    summary="Requeue an ended job",
    status_code=200,
    dto=JsonBody[ActionRequest],
    **permission(Permission.JOBS_WRITE, audit="job.requeue"),
)
async def requeue(job: NamedDependency[OneJob], data: JSONBody[ActionRequest | None] = None) -> JobShown:
    """Lets a completed, cancelled or dead job run once more; its result is cleared."""
    return await job.acted_on("requeue", operations.requeue, events.JOB_REPLAYED, data)


@post(
    "/{job_id:str}/cancel",
    summary="Cancel a job",
    status_code=200,
    dto=JsonBody[ActionRequest],
    **permission(Permission.JOBS_WRITE, audit="job.cancel"),
)
async def cancel(job: NamedDependency[OneJob], data: JSONBody[ActionRequest | None] = None) -> JobShown:
    """Cancels a job that waits, at once; one that runs is asked to stop and shows `cancel_requested` until it has."""
    return await job.acted_on("cancel", operations.cancel, events.JOB_CANCEL_ASKED, data)


@post(
    "/{job_id:str}/reveal",
    summary="Reveal a job's payload and result",
    status_code=200,
    dto=JsonBody[RevealRequest],
    **permission(Permission.PAYLOADS_REVEAL, audit="job.reveal"),
)
async def reveal(job_id: FromPath[str], data: JSONBody[RevealRequest], store: NamedDependency[Store]) -> Revealed:
    """Payload and result with nothing masked. That it was asked for, by whom and why is in the audit trail."""
    return Revealed(**revealed_contents(await store.run(reads.job(job_id))))


@delete("/{job_id:str}", summary="Delete a job", **permission(Permission.JOBS_WRITE, audit="job.delete"))
async def remove(job_id: FromPath[str], store: NamedDependency[Store], identity: NamedDependency[Identity]) -> None:
    """Removes a job with its history; one that is running is refused."""
    await store.run(operations.delete(job_id))
    log.info(events.JOB_DELETED, job_id=job_id, user=identity.username)


router = Router("/jobs", route_handlers=[retry, requeue, cancel, reveal, remove], dependencies=ONE_JOB, tags=["jobs"])
