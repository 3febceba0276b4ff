"""The page about the API: every route, tried out in the browser with a token of one's own."""

from litestar import Response, get
from litestar.di import NamedDependency

from leaseforge.store import Store
from leaseforge_auth.guards import any_identity
from leaseforge_console.console import Console, ConsoleRequest, Place
from leaseforge_console.pages.account import rail_counts

INLINE_IMAGES = "inline_images"
"""On the route of a page that draws images out of its style sheet; every other page is forbidden to."""


@get("/api", **any_identity(**{INLINE_IMAGES: True}))
async def show_api(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store]
) -> Response[str]:
    """Shows the API's description. What is tried from there goes to the API with a bearer token, never the session."""
    return console.page(
        request, "pages/api.html", None, Place("API", "api"), snapshot=await rail_counts(request, store)
    )
