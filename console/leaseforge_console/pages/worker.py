"""The page of one worker, and what it can be told: quiet, resume, stop."""

from typing import Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge.errors import WorkerNotFound
from leaseforge.held import Held, held
from leaseforge.store import Store
from leaseforge.workers import Command, WorkerInfo
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.live import Live, Topic, read_snapshot
from leaseforge_console.stream import Watched
from leaseforge_console.views import worker as view
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.workers import path_of

log = structlog.get_logger()

_TOLD = {
    Command.QUIET: "Told {} to be quiet: from its next report on it claims nothing new.",
    Command.RESUME: "Told {} to resume: from its next report on it claims again.",
    Command.STOP: "Told {} to stop: from its next report on it drains, then exits.",
}


async def load(store: Store, _snapshot: Snapshot, worker_id: str) -> tuple[WorkerInfo, tuple[Held, ...]]:
    """The worker's last report, and how its jobs stand."""
    info = await store.run(reads.worker(worker_id))
    return info, await store.run(held(info))


def watched(worker_id: str) -> Watched:
    """The page's live side."""

    def build(snapshot: Snapshot, data: Any) -> view.Worker:
        info, leases = data
        return view.build(info, leases, snapshot)

    return Watched(Topic(load, (worker_id,)), "live/worker.html", place(worker_id), build)


def place(worker_id: str) -> Place:
    """Where the page stands."""
    return Place(f"Worker {worker_id[:12]}", "workers", f"/live{path_of(worker_id)}")


@get("/workers/{worker_id:str}", **permission(Permission.WORKERS_READ))
async def show_worker(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], worker_id: FromPath[str]
) -> Response[str]:
    """One worker: its leases, and what it serves."""
    snapshot = await read_snapshot(store)
    page = view.build(*await load(store, snapshot, worker_id), snapshot)
    return console.page(request, "pages/workers/show.html", page, place(worker_id), snapshot=snapshot)


@post("/workers/{worker_id:str}/quiet", **permission(Permission.WORKERS_WRITE, audit="worker.quiet"))
async def quiet_worker(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    worker_id: FromPath[str],
) -> Response[Any]:
    """The worker claims nothing new; what runs goes on."""
    return await _tell(request, console, store, live, worker_id, Command.QUIET)


@post("/workers/{worker_id:str}/resume", **permission(Permission.WORKERS_WRITE, audit="worker.resume"))
async def resume_worker(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    worker_id: FromPath[str],
) -> Response[Any]:
    """The worker claims again."""
    return await _tell(request, console, store, live, worker_id, Command.RESUME)


@get("/workers/{worker_id:str}/stop", **permission(Permission.WORKERS_WRITE))
async def confirm_stop(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], worker_id: FromPath[str]
) -> Response[str]:
    """Shows what a stop means for what runs and for the queues."""
    snapshot = await read_snapshot(store)
    page = view.build(*await load(store, snapshot, worker_id), snapshot)
    where = Place(f"Stop worker {worker_id[:12]}", "workers")
    return console.page(request, "pages/workers/stop.html", page, where, snapshot=snapshot)


@post("/workers/{worker_id:str}/stop", **permission(Permission.WORKERS_WRITE, audit="worker.stop"))
async def stop_worker(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    worker_id: FromPath[str],
) -> Response[Any]:
    """The worker drains and exits."""
    return await _tell(request, console, store, live, worker_id, Command.STOP)


async def _tell(
    request: ConsoleRequest, console: Console, store: Store, live: Live, worker_id: str, command: Command
) -> Response[Any]:
    info = await store.run(reads.worker(worker_id))
    if not await store.run(operations.command_worker(worker_id, command)):
        raise WorkerNotFound(worker_id)
    log.info(events.WORKER_COMMANDED, worker=worker_id, command=command, user=identity_of(request).username)
    live.nudge()
    told = Flash("good", _TOLD[command].format(f"{info.host}:{info.pid}"))
    return console.go(request, f"/console{path_of(worker_id)}", told)
