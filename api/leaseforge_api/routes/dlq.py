"""Dead letters: jobs that failed for good, by themselves and by kind of error."""

from typing import Any

import structlog
from litestar import Request, Router, delete, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, JSONBody
from msgspec import UNSET

from leaseforge import events, operations, reads
from leaseforge.filters import Filter
from leaseforge.jobs import JobState
from leaseforge.searching import search
from leaseforge.store import Store
from leaseforge_api.bodies import JsonBody
from leaseforge_api.one_job import ONE_JOB, OneJob
from leaseforge_api.routes.job_actions import retried
from leaseforge_api.schemas.dlq import DeadGroupShown, PurgeDeadRequest, dead_group_shown
from leaseforge_api.schemas.job import JobShown
from leaseforge_api.schemas.jobs import RetryRequest
from leaseforge_api.schemas.lists import DeadPage, dead_filter, dead_page
from leaseforge_api.schemas.pages import Asked, Listed, OfQueue
from leaseforge_api.schemas.queues import PurgeAnswer
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

log = structlog.get_logger()


@get("/", summary="List dead jobs", dependencies={"wanted": Provide(dead_filter)}, **permission(Permission.DLQ_READ))
async def index(
    store: NamedDependency[Store], wanted: NamedDependency[Filter], page: NamedDependency[Asked]
) -> DeadPage:
    """Dead jobs of all queues, or of one, newest first, without payloads."""
    return dead_page(await store.run(search(wanted, place=page.place, limit=page.limit)), page)


@get("/groups", summary="Group dead jobs by error", **permission(Permission.DLQ_READ))
async def groups(
    store: NamedDependency[Store],
    page: NamedDependency[Asked],
    queue: OfQueue = None,
) -> Listed[DeadGroupShown]:
    """Dead jobs by kind of error, the largest group first; sizes change while pages are read."""
    if queue is not None:
        await store.run(reads.queue(queue))
    found = await store.run(reads.groups(queue, offset=page.offset, limit=page.limit))
    return page.listed([dead_group_shown(group) for group in found.items], found.total)


@post(
    "/{job_id:str}/retry",
    summary="Retry a dead job",
    status_code=200,
    dto=JsonBody[RetryRequest],
    **permission(Permission.DLQ_WRITE, audit="dlq.retry"),
)
async def retry(job: NamedDependency[OneJob], data: JSONBody[RetryRequest | None] = None) -> JobShown:
    """Gives a dead job back to its queue with a fresh budget; the same key again changes nothing."""
    return await retried(job, data)


@delete("/{job_id:str}", summary="Delete a dead job", **permission(Permission.DLQ_WRITE, audit="dlq.delete"))
async def remove(job_id: FromPath[str], store: NamedDependency[Store], identity: NamedDependency[Identity]) -> None:
    """Removes a dead job with its history; one that is not dead is refused."""
    await store.run(operations.delete(job_id, only=(JobState.DEAD,)))
    log.info(events.JOB_DELETED, job_id=job_id, user=identity.username)


@post(
    "/purge",
    summary="Purge dead jobs",
    status_code=200,
    dto=JsonBody[PurgeDeadRequest],
    **permission(Permission.DLQ_WRITE, audit="dlq.purge"),
)
async def purge(
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    request: Request[Any, Any, Any],
    queue: OfQueue = None,
    data: JSONBody[PurgeDeadRequest | None] = None,
) -> PurgeAnswer:
    """Removes dead jobs: those that had died at the moment the caller was shown (`frozen`), or until now."""
    asked = data or PurgeDeadRequest()
    infos = [await store.run(reads.queue(queue))] if queue is not None else await store.run(reads.queues())
    removed = 0
    action_of(request).note(queue=queue, removed=removed)
    for info in infos:
        if info.counts[JobState.DEAD]:
            # Never later than now, or jobs that go on dying would be purged without end.
            now = info.as_of_ms + 1
            before_ms = now if asked.frozen is UNSET else min(now, asked.frozen.as_of_ms)
            removed += (await store.run(operations.purge_dead(info.name, before_ms=before_ms))).removed
            action_of(request).note(queue=queue, removed=removed)
    log.info(events.DEAD_PURGED, queue=queue, removed=removed, user=identity.username, reason=asked.reason)
    return PurgeAnswer(removed)


router = Router("/dlq", route_handlers=[index, groups, retry, remove, purge], dependencies=ONE_JOB, tags=["dlq"])
