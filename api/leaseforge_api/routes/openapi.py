"""The API's description, for programs by their token, and for people behind a page of the console."""

from functools import lru_cache
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response, Router, get

from leaseforge_api.openapi_document import document
from leaseforge_auth.guards import AUTH, any_identity
from leaseforge_console.paths import HOME


@get("/openapi.json", sync_to_thread=False, include_in_schema=False, **any_identity())
def openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The OpenAPI document of all routes under /api."""
    return Response(_document(request.app), media_type=MediaType.JSON)


@get("/api/openapi.json", sync_to_thread=False, include_in_schema=False, **any_identity())
def openapi_for_page(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The same for the page that shows it, which has a session and no token."""
    return Response(_document(request.app), media_type=MediaType.JSON)


@lru_cache(maxsize=8)
def _document(app: Litestar) -> bytes:
    # A fifth of a second's work, during which nobody else is served: once a process.
    return msgspec.json.encode(document(app.openapi_schema.to_schema(), root_path=app.state.root_path))


class NoPages(Router):
    """The framework would serve pages of its own about the document, with scripts of foreign hosts; it gets none."""

    def register(self, value: Any) -> list[Any]:
        """Takes nothing in."""
        return []


router = Router("/", route_handlers=[openapi])
for_pages = Router(HOME, route_handlers=[openapi_for_page], opt={AUTH: "session"})
