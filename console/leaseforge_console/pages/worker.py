"""The page of one worker, and what it can be told: quiet, resume, stop."""

from typing import Any

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
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.stream import Watched
from leaseforge_console.views import worker as view
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.workers import path_of
from leaseforge_console.visit import Visit

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

    place = Place(f"Worker {worker_id[:12]}", "workers", f"/live{path_of(worker_id)}")
    return Watched(Topic(load, (worker_id,)), "live/worker.html", place, build)


@get("/workers/{worker_id:str}", **permission(Permission.WORKERS_READ))
async def show_worker(visit: NamedDependency[Visit], worker_id: FromPath[str]) -> Response[str]:
    """One worker: its leases, and what it serves."""
    return await visit.show("pages/workers/show.html", watched(worker_id))


@post("/workers/{worker_id:str}/quiet", **permission(Permission.WORKERS_WRITE, audit="worker.quiet"))
async def quiet_worker(visit: NamedDependency[Visit], worker_id: FromPath[str]) -> Response[Any]:
    """The worker claims nothing new; what runs goes on."""
    return await _tell(visit, worker_id, Command.QUIET)


@post("/workers/{worker_id:str}/resume", **permission(Permission.WORKERS_WRITE, audit="worker.resume"))
async def resume_worker(visit: NamedDependency[Visit], worker_id: FromPath[str]) -> Response[Any]:
    """The worker claims again."""
    return await _tell(visit, worker_id, Command.RESUME)


@get("/workers/{worker_id:str}/stop", **permission(Permission.WORKERS_WRITE))
async def confirm_stop(visit: NamedDependency[Visit], worker_id: FromPath[str]) -> Response[str]:
    """Shows what a stop means for what runs and for the queues."""
    snapshot = await visit.snapshot()
    page = view.build(*await load(visit.store, snapshot, worker_id), snapshot)
    place = Place(f"Stop worker {worker_id[:12]}", "workers")
    return visit.page("pages/workers/stop.html", page, place, snapshot)


@post("/workers/{worker_id:str}/stop", **permission(Permission.WORKERS_WRITE, audit="worker.stop"))
async def stop_worker(visit: NamedDependency[Visit], worker_id: FromPath[str]) -> Response[Any]:
    """The worker drains and exits."""
    return await _tell(visit, worker_id, Command.STOP)


async def _tell(visit: Visit, worker_id: str, command: Command) -> Response[Any]:
    info = await visit.store.run(reads.worker(worker_id))
    if not await visit.store.run(operations.command_worker(worker_id, command)):
        raise WorkerNotFound(worker_id)
    visit.did(events.WORKER_COMMANDED, worker=worker_id, command=command)
    return visit.go(f"/console{path_of(worker_id)}", _TOLD[command].format(f"{info.host}:{info.pid}"))
