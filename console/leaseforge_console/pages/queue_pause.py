"""Pausing a queue and resuming it: each is asked about first, so that a reason can be given."""

from typing import Any

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge.answers import Answer
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.live import Live, read_snapshot
from leaseforge_console.views import queues
from leaseforge_console.views.frame import Flash

log = structlog.get_logger()


@get("/queues/{queue:str}/pause", **permission(Permission.QUEUES_WRITE))
async def confirm_pause(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], queue: FromPath[str]
) -> Response[str]:
    """Shows what a pause means for what waits and what runs."""
    return await _ask(request, console, store, queue, "pages/queues/pause.html", f"Pause {queue}")


@post("/queues/{queue:str}/pause", **permission(Permission.QUEUES_WRITE, audit="queue.pause"))
async def pause_queue(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    queue: FromPath[str],
) -> Response[Any]:
    """Nothing more is claimed from the queue; what runs goes on."""
    answer = await store.run(operations.pause(queue))
    log.info(events.QUEUE_PAUSED, queue=queue, user=identity_of(request).username)
    live.nudge()
    told = f"{queue} was paused already." if answer is Answer.ALREADY_DONE else f"Paused {queue}. What runs goes on."
    return console.go(request, _back(request, console, queue), Flash("good", told))


@get("/queues/{queue:str}/resume", **permission(Permission.QUEUES_WRITE))
async def confirm_resume(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], queue: FromPath[str]
) -> Response[str]:
    """Shows what waits to be claimed."""
    return await _ask(request, console, store, queue, "pages/queues/resume.html", f"Resume {queue}")


@post("/queues/{queue:str}/resume", **permission(Permission.QUEUES_WRITE, audit="queue.resume"))
async def resume_queue(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    live: NamedDependency[Live],
    queue: FromPath[str],
) -> Response[Any]:
    """Claims go on."""
    answer = await store.run(operations.resume(queue))
    log.info(events.QUEUE_RESUMED, queue=queue, user=identity_of(request).username)
    live.nudge()
    told = f"{queue} was not paused." if answer is Answer.ALREADY_DONE else f"Resumed {queue}."
    return console.go(request, _back(request, console, queue), Flash("good", told))


async def _ask(
    request: ConsoleRequest, console: Console, store: Store, queue: str, template: str, title: str
) -> Response[str]:
    info = await store.run(reads.queue(queue))
    snapshot = await read_snapshot(store)
    page = queues.row(info, snapshot)
    return console.page(request, template, page, Place(title, "queues"), snapshot=snapshot)


def _back(request: ConsoleRequest, console: Console, queue: str) -> str:
    return console.after_confirmation(request, f"/console/queues/{queue}")
