"""Workers: who is there, and what runs where."""

from litestar import Router, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from leaseforge import reads
from leaseforge.store import Store
from leaseforge_api.schemas.pages import Asked, Listed
from leaseforge_api.schemas.workers import Worker, worker
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission


@get("/", **permission(Permission.WORKERS_READ))
async def index(store: NamedDependency[Store], page: NamedDependency[Asked]) -> Listed[Worker]:
    """Workers, the one heard of last first; one that fell silent is listed as lost for a while."""
    found = await store.run(reads.workers(offset=page.offset, limit=page.limit))
    items = [worker(info) for info in found.items]
    return Listed(items, found.total, page.next(count=page.limit, total=found.total))


@get("/{worker_id:str}", **permission(Permission.WORKERS_READ))
async def show(worker_id: FromPath[str], store: NamedDependency[Store]) -> Worker:
    """One worker."""
    for info in (await store.run(reads.workers())).items:
        if info.id == worker_id:
            return worker(info)
    raise NotFoundException(f"no worker {worker_id}")


router = Router("/workers", route_handlers=[index, show], tags=["workers"])
