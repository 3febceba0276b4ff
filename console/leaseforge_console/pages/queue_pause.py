"""Pausing a queue and resuming it: each is asked about first, so that a reason can be given."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge import events, operations, reads
from leaseforge.answers import Answer
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.views import queues
from leaseforge_console.visit import Visit


@get("/queues/{queue:str}/pause", **permission(Permission.QUEUES_WRITE))
async def confirm_pause(visit: NamedDependency[Visit], queue: FromPath[str]) -> Response[str]:
    """Shows what a pause means for what waits and what runs."""
    return await _ask(visit, queue, "pages/queues/pause.html", f"Pause {queue}")


@post("/queues/{queue:str}/pause", **permission(Permission.QUEUES_WRITE, audit="queue.pause"))
async def pause_queue(visit: NamedDependency[Visit], queue: FromPath[str]) -> Response[Any]:
    """Nothing more is claimed from the queue; what runs goes on."""
    answer = await visit.store.run(operations.pause(queue))
    visit.did(events.QUEUE_PAUSED, queue=queue)
    told = f"{queue} was paused already." if answer is Answer.ALREADY_DONE else f"Paused {queue}. What runs goes on."
    return visit.go(visit.after_confirmation(f"/console/queues/{queue}"), told)


@get("/queues/{queue:str}/resume", **permission(Permission.QUEUES_WRITE))
async def confirm_resume(visit: NamedDependency[Visit], queue: FromPath[str]) -> Response[str]:
    """Shows what waits to be claimed."""
    return await _ask(visit, queue, "pages/queues/resume.html", f"Resume {queue}")


@post("/queues/{queue:str}/resume", **permission(Permission.QUEUES_WRITE, audit="queue.resume"))
async def resume_queue(visit: NamedDependency[Visit], queue: FromPath[str]) -> Response[Any]:
    """Claims go on."""
    answer = await visit.store.run(operations.resume(queue))
    visit.did(events.QUEUE_RESUMED, queue=queue)
    told = f"{queue} was not paused." if answer is Answer.ALREADY_DONE else f"Resumed {queue}."
    return visit.go(visit.after_confirmation(f"/console/queues/{queue}"), told)


async def _ask(visit: Visit, queue: str, template: str, title: str) -> Response[str]:
    info, snapshot = await visit.store.run(reads.queue(queue)), await visit.snapshot()
    return visit.page(template, queues.row(info, snapshot), Place(title, "queues"), snapshot)
