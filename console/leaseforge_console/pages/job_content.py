"""Payload and result of a job as files."""

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from leaseforge import reads
from leaseforge.requests import JSON
from leaseforge.store import Store
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.views.job_file import as_file


@get("/jobs/{job_id:str}/payload", **permission(Permission.PAYLOADS_READ))
async def download_payload(store: NamedDependency[Store], job_id: FromPath[str]) -> Response[bytes]:
    """The whole payload, masked."""
    job = await store.run(reads.job(job_id))
    return file_of(job.payload, job.content_type, job_id=job.id, what="payload")


@get("/jobs/{job_id:str}/result", **permission(Permission.PAYLOADS_READ))
async def download_result(store: NamedDependency[Store], job_id: FromPath[str]) -> Response[bytes]:
    """The whole result, masked."""
    job = await store.run(reads.job(job_id))
    return file_of(job.result, JSON, job_id=job.id, what="result")


def file_of(
    content: bytes | None, content_type: str, *, job_id: str, what: str, reveal: bool = False
) -> Response[bytes]:
    """A file to keep, never to be shown by the browser itself. Raises NotFoundException where there is nothing."""
    if content is None:
        raise NotFoundException(f"the job has no {what}")
    file = as_file(content, content_type, job_id=job_id, what=what, reveal=reveal)
    headers = {
        "Content-Disposition": f'attachment; filename="{file.name}"',
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return Response(file.content, status_code=200, media_type=file.media_type, headers=headers)
