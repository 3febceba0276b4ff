"""Static files under an address that changes with their content, so that browsers keep them for ever."""

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from leaseforge_auth.guards import public
from leaseforge_console.console import Console, ConsoleRequest

_FOR_EVER = "public, max-age=31536000, immutable"


@get("/static/{digest:str}/{name:path}", **public())
async def send_static(
    request: ConsoleRequest, console: NamedDependency[Console], digest: FromPath[str], name: FromPath[str]
) -> Response[bytes]:
    """The file; under another version's address (a page from before an update) it is sent but not to be kept."""
    file = console.static.get(name.lstrip("/"))
    if file is None:
        raise NotFoundException("no such file")
    etag = f'"{file.digest}"'
    headers = {"Cache-Control": _FOR_EVER if digest == file.digest else "no-cache", "ETag": etag}
    if request.headers.get("if-none-match") == etag:
        return Response(b"", status_code=304, headers=headers, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)
