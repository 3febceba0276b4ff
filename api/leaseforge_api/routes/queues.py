"""Queues: how they are, what is in them, limits, pause, resume, purge."""

from typing import Annotated, Any

import structlog
from litestar import Request, Router, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET

from leaseforge import events, operations, reads, statistics
from leaseforge.jobs import JobState
from leaseforge.store import Store
from leaseforge_api.bodies import JsonBody
from leaseforge_api.schemas.job import JobShown, job_shown
from leaseforge_api.schemas.pages import Asked, Listed
from leaseforge_api.schemas.queues import ConfigureRequest, Frozen, PurgeAnswer, PurgeRequest, Queue, QueueAction, queue
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

State = Annotated[JobState, QueryParameter(name="state", description="Jobs in this state.")]

log = structlog.get_logger()


@get("/", summary="List queues", **permission(Permission.QUEUES_READ))
async def index(store: NamedDependency[Store], page: NamedDependency[Asked]) -> Listed[Queue]:
    """All queues by name."""
    infos = await store.run(reads.readable(reads.queues(), []))
    shown = page.part_of(infos)
    rates = await store.run(statistics.rates([info.name for info in shown]))
    return page.listed([queue(info, rate) for info, rate in zip(shown, rates, strict=True)], len(infos))


@get("/{name:str}", summary="Show a queue", **permission(Permission.QUEUES_READ))
async def show(name: FromPath[str], store: NamedDependency[Store]) -> Queue:
    """One queue."""
    return await _shown(store, name)


@get("/{name:str}/jobs", summary="List a queue's jobs", **permission(Permission.JOBS_READ))
async def jobs(
    name: FromPath[str],
    store: NamedDependency[Store],
    page: NamedDependency[Asked],
    in_state: State = JobState.READY,
) -> Listed[JobShown]:
    """The queue's jobs in one state, without payloads.

    Ready ones in the order they will be claimed, scheduled and retrying by due time, running by lease expiry, ended
    ones newest first.
    """
    await store.run(reads.queue(name))
    found = await store.run(reads.jobs(name, in_state, offset=page.offset, limit=page.limit))
    return page.listed([job_shown(job, with_payload=False, in_list=True) for job in found.items], found.total)


@patch(
    "/{name:str}",
    summary="Change a queue's limits",
    dto=JsonBody[ConfigureRequest],
    **permission(Permission.QUEUES_WRITE, audit="queue.configure"),
)
async def configure(
    name: FromPath[str],
    data: JSONBody[ConfigureRequest],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    request: Request[Any, Any, Any],
) -> Queue:
    """Changes the queue's cap, rate and retention; a raised cap or rate lets waiting jobs be claimed at once."""
    changes = data.changes()
    before = await store.run(reads.queue(name))
    await store.run(operations.configure(name, changes))
    action_of(request).note(before={limit: getattr(before.limits, limit) for limit in changes}, after=changes)
    log.info(events.QUEUE_CONFIGURED, queue=name, changes=changes, user=identity.username, reason=data.reason)
    return await _shown(store, name)


@post(
    "/{name:str}/pause",
    summary="Pause a queue",
    status_code=200,
    dto=JsonBody[QueueAction],
    **permission(Permission.QUEUES_WRITE, audit="queue.pause"),
)
async def pause(
    name: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    data: JSONBody[QueueAction | None] = None,
) -> Queue:
    """No job of the queue is claimed once this has answered; running ones go on. Pausing a paused queue is fine."""
    await store.run(operations.pause(name))
    log.info(events.QUEUE_PAUSED, queue=name, user=identity.username, reason=data.reason if data else None)
    return await _shown(store, name)


@post(
    "/{name:str}/resume",
    summary="Resume a queue",
    status_code=200,
    dto=JsonBody[QueueAction],
    **permission(Permission.QUEUES_WRITE, audit="queue.resume"),
)
async def resume(
    name: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    data: JSONBody[QueueAction | None] = None,
) -> Queue:
    """Jobs of the queue are claimed again."""
    await store.run(operations.resume(name))
    log.info(events.QUEUE_RESUMED, queue=name, user=identity.username, reason=data.reason if data else None)
    return await _shown(store, name)


@post(
    "/{name:str}/purge",
    summary="Purge a queue",
    status_code=200,
    dto=JsonBody[PurgeRequest],
    **permission(Permission.QUEUES_WRITE, audit="queue.purge"),
)
async def purge(
    name: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    request: Request[Any, Any, Any],
    data: JSONBody[PurgeRequest | None] = None,
) -> PurgeAnswer:
    """Removes the queue's ready jobs: those of the moment the caller was shown (`frozen`), or of now."""
    asked = data or PurgeRequest()
    shown = await store.run(reads.queue(name))
    frozen = Frozen(shown.sequence, shown.as_of_ms) if asked.frozen is UNSET else asked.frozen
    done = await store.run(operations.purge(name, sequence=frozen.sequence, as_of_ms=frozen.as_of_ms))
    action_of(request).note(removed=done.removed)
    log.info(events.QUEUE_PURGED, queue=name, removed=done.removed, user=identity.username, reason=asked.reason)
    return PurgeAnswer(done.removed)


async def _shown(store: Store, name: str) -> Queue:
    info = await store.run(reads.queue(name))
    [rate] = await store.run(statistics.rates([name]))
    return queue(info, rate)


router = Router("/queues", route_handlers=[index, show, jobs, configure, pause, resume, purge], tags=["queues"])
