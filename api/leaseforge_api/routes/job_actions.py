"""What operators do to one job: retry, requeue, cancel, reveal, delete."""

import uuid

import structlog
from litestar import Router, delete, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, structs

from leaseforge import events, operations, reads
from leaseforge.answers import Answer
from leaseforge.calls import Plan
from leaseforge.errors import JobNotFound
from leaseforge.json_depth import check_depth
from leaseforge.store import Store
from leaseforge_api.bodies import JsonBody
from leaseforge_api.schemas.job import JobShown, revealed_contents, shown_to
from leaseforge_api.schemas.jobs import ActionRequest, IdempotencyKey, RetryRequest, Revealed, RevealRequest
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
async def retry(
    job_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    idempotency_key: IdempotencyKey = None,
    data: JSONBody[RetryRequest | None] = None,
) -> JobShown:
    """Gives a dead job back to its queue with a fresh budget; the same key again changes nothing."""
    return await retried(job_id, store, identity, idempotency_key, data)


async def retried(
    job_id: str, store: Store, identity: Identity, idempotency_key: str | None, data: RetryRequest | None
) -> JobShown:
    """Retries a dead job as the caller asked; the job after it."""
    asked = data or RetryRequest()
    payload = None if asked.payload is UNSET else bytes(asked.payload)
    if payload is not None:
        check_depth(payload, "payload")
    operation = operation_id("retry", identity, job_id, idempotency_key)
    shown = await acted_on(job_id, operations.retry(job_id, operation=operation, payload=payload), store, identity)
    log.info(events.JOB_REPLAYED, job_id=job_id, user=identity.username, reason=asked.reason)
    return shown


async def acted_on(job_id: str, action: Plan[Answer], store: Store, identity: Identity) -> JobShown:
    """Carries out an action on a job; the job after it.

    One that somebody else has removed since is told as it was before, with the status `gone`: the action was done.
    Raises JobNotFound, and what the action raises.
    """
    before = await store.run(reads.job(job_id))
    await store.run(action)
    try:
        return shown_to(identity, await store.run(reads.job(job_id)))
    except JobNotFound:
        return structs.replace(shown_to(identity, before), status="gone")


@post(
    "/{job_id:str}/requeue",
    summary="Requeue an ended job",
    status_code=200,
    dto=JsonBody[ActionRequest],
    **permission(Permission.JOBS_WRITE, audit="job.requeue"),
)
async def requeue(
    job_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    idempotency_key: IdempotencyKey = None,
    data: JSONBody[ActionRequest | None] = None,
) -> JobShown:
    """Lets a completed, cancelled or dead job run once more; its result is cleared."""
    operation = operation_id("requeue", identity, job_id, idempotency_key)
    shown = await acted_on(job_id, operations.requeue(job_id, operation=operation), store, identity)
    log.info(events.JOB_REPLAYED, job_id=job_id, user=identity.username, reason=data.reason if data else None)
    return shown


@post(
    "/{job_id:str}/cancel",
    summary="Cancel a job",
    status_code=200,
    dto=JsonBody[ActionRequest],
    **permission(Permission.JOBS_WRITE, audit="job.cancel"),
)
async def cancel(
    job_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    idempotency_key: IdempotencyKey = None,
    data: JSONBody[ActionRequest | None] = None,
) -> JobShown:
    """Cancels a job that waits, at once; one that runs is asked to stop and shows `cancel_requested` until it has."""
    operation = operation_id("cancel", identity, job_id, idempotency_key)
    shown = await acted_on(job_id, operations.cancel(job_id, operation=operation), store, identity)
    log.info(events.JOB_CANCEL_ASKED, job_id=job_id, user=identity.username, reason=data.reason if data else None)
    return shown


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
    await removed(job_id, store, identity)


async def removed(job_id: str, store: Store, identity: Identity) -> None:
    """Deletes a job for this caller."""
    await store.run(operations.delete(job_id))
    log.info(events.JOB_DELETED, job_id=job_id, user=identity.username)


def operation_id(verb: str, identity: Identity, job_id: str, idempotency_key: str | None) -> str:
    """The id under which the engine does this once: of the caller's key, or a new one.

    A caller's key counts for this caller, job and verb only, so it needs no bound but its length.
    """
    key = f"{verb}\0{identity.username}\0{job_id}\0{idempotency_key}" if idempotency_key else uuid.uuid4().hex
    return uuid.uuid5(uuid.NAMESPACE_OID, key).hex


router = Router("/jobs", route_handlers=[retry, requeue, cancel, reveal, remove], tags=["jobs"])
