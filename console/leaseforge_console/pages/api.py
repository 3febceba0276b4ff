"""The page about the API: every route, tried out in the browser with a token of one's own."""

from litestar import Response, get
from litestar.di import NamedDependency

from leaseforge_auth.guards import any_identity
from leaseforge_console.console import Place
from leaseforge_console.visit import Visit

INLINE_IMAGES = "inline_images"
"""On the route of a page that draws images out of its style sheet; every other page is forbidden to."""


@get("/api", **any_identity(**{INLINE_IMAGES: True}))
async def show_api(visit: NamedDependency[Visit]) -> Response[str]:
    """Shows the API's description. What is tried from there goes to the API with a bearer token, never the session."""
    return visit.page("pages/api.html", None, Place("API", "api"), await visit.rail_counts())
