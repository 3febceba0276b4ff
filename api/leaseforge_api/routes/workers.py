"""Workers: who is there, what runs where, and what operators want of them."""

import structlog
from litestar import Router, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from leaseforge import events, operations, reads
from leaseforge.errors import WorkerNotFound
from leaseforge.store import Store
from leaseforge.workers import Command, WorkerInfo
from leaseforge_api.bodies import JsonBody
from leaseforge_api.schemas.jobs import ActionRequest
from leaseforge_api.schemas.pages import Asked, Listed
from leaseforge_api.schemas.workers import Worker, worker
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

log = structlog.get_logger()


@get("/", summary="List workers", **permission(Permission.WORKERS_READ))
async def index(store: NamedDependency[Store], page: NamedDependency[Asked]) -> Listed[Worker]:
    """Workers, the one heard of last first; one that fell silent is listed as lost for a while."""
    none: reads.Page[WorkerInfo] = reads.Page((), 0, page.offset, page.limit)
    found = await store.run(reads.readable(reads.workers(offset=page.offset, limit=page.limit), none))
    return page.listed([worker(info) for info in found.items], found.total)


@get("/{worker_id:str}", summary="Show a worker", **permission(Permission.WORKERS_READ))
async def show(worker_id: FromPath[str], store: NamedDependency[Store]) -> Worker:
    """One worker."""
    return worker(await store.run(reads.worker(worker_id)))


@post(
    "/{worker_id:str}/quiet",
    summary="Quiet a worker",
    status_code=202,
    dto=JsonBody[ActionRequest],
    **permission(Permission.WORKERS_WRITE, audit="worker.quiet"),
)
async def quiet(
    worker_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    data: JSONBody[ActionRequest | None] = None,
) -> Worker:
    """The worker claims nothing new; what runs goes on. It hears of it at its next report, and `state` says so."""
    return await _command(worker_id, Command.QUIET, store, identity, data)


@post(
    "/{worker_id:str}/resume",
    summary="Resume a worker",
    status_code=202,
    dto=JsonBody[ActionRequest],
    **permission(Permission.WORKERS_WRITE, audit="worker.resume"),
)
async def resume(
    worker_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    data: JSONBody[ActionRequest | None] = None,
) -> Worker:
    """The worker claims again, from its next report on."""
    return await _command(worker_id, Command.RESUME, store, identity, data)


@post(
    "/{worker_id:str}/stop",
    summary="Stop a worker",
    status_code=202,
    dto=JsonBody[ActionRequest],
    **permission(Permission.WORKERS_WRITE, audit="worker.stop"),
)
async def stop(
    worker_id: FromPath[str],
    store: NamedDependency[Store],
    identity: NamedDependency[Identity],
    data: JSONBody[ActionRequest | None] = None,
) -> Worker:
    """The worker drains and exits, from its next report on; whoever started it may start it again."""
    return await _command(worker_id, Command.STOP, store, identity, data)


async def _command(
    worker_id: str, command: Command, store: Store, identity: Identity, data: ActionRequest | None
) -> Worker:
    """Leaves a word for the worker; the worker as it is until it has heard it."""
    if not await store.run(operations.command_worker(worker_id, command)):
        raise WorkerNotFound(worker_id)
    reason = data.reason if data else None
    log.info(events.WORKER_COMMANDED, worker=worker_id, command=command, user=identity.username, reason=reason)
    return worker(await store.run(reads.worker(worker_id)))


router = Router("/workers", route_handlers=[index, show, quiet, resume, stop], tags=["workers"])
