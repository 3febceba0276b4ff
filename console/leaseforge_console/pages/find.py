"""The search: a whole job id or a queue's name leads to its page; anything else is said not to be there."""

from dataclasses import dataclass
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery

from leaseforge import reads
from leaseforge.errors import JobNotFound
from leaseforge.requests import is_job_id
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place
from leaseforge_console.live import read_snapshot

_MAX_QUERY = 200


@dataclass(frozen=True, slots=True)
class Found:
    """The page: what was asked for, and which queues have a name like it."""

    query: str
    looks_like_id: bool
    queues: tuple[str, ...]


@get("/find", **permission(Permission.QUEUES_READ))
async def find(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], q: FromQuery[str] = ""
) -> Response[Any]:
    """Goes to what was found, or says that there is no such thing."""
    query = q.strip()[:_MAX_QUERY]
    if is_job_id(query.lower()) and await _has_job(store, query.lower()):
        return console.go(request, f"/console/jobs/{query.lower()}")
    snapshot = await read_snapshot(store)
    names = [queue.name for queue in snapshot.queues]
    if query in names:
        return console.go(request, f"/console/queues/{query}")
    like = tuple(name for name in names if query and query.lower() in name.lower())[:20]
    page = Found(query, is_job_id(query.lower()), like)
    return console.page(request, "pages/find.html", page, Place("Find", ""), snapshot=snapshot)


async def _has_job(store: Store, job_id: str) -> bool:
    try:
        await store.run(reads.job(job_id))
    except JobNotFound:
        return False
    return True
