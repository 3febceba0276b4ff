"""Slashes inside a name: `%2F` in a path is part of what it names, and no way to another route.

The router knows decoded paths only. So such slashes, and the percent signs beside them, stay encoded until the route is
found; then the names that may hold one are decoded.
"""

import re
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote

from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

WITH_SLASHES = "leaseforge.slashes"
"""In a scope: its path has names that are still encoded."""
_MAY_HOLD_ONE = ("worker_id",)
"""Ids that workers choose freely; queues, jobs and accounts have none with a slash."""
_SLASH = re.compile(rb"%2f", re.IGNORECASE)
_KEPT = re.compile(rb"%(2f|25)", re.IGNORECASE)


def keep_slashes(scope: MutableMapping[str, Any]) -> None:
    """Leaves encoded slashes in the path of a request as they are."""
    raw: bytes = scope.get("raw_path") or b""
    if _SLASH.search(raw):
        scope["path"] = unquote(_KEPT.sub(rb"%25\1", raw).decode("ascii", "replace"))
        scope[WITH_SLASHES] = True


class WholeNames(ASGIMiddleware):
    """Decodes the names a route was found by; before anything looks at them."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Pass the request on."""
        if scope.get(WITH_SLASHES):
            names = scope["path_params"]
            scope["path_params"] = {
                name: unquote(value) if name in _MAY_HOLD_ONE else value for name, value in names.items()
            }
        await next_app(scope, receive, send)
