"""The stream behind pages that stand still: forms, searches, lists of people.

Nothing on such a page is replaced but the counts of the rail. It is there so that every open tab finds out when its
session was ended.
"""

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Stream

from leaseforge.store import Store
from leaseforge_auth.guards import PASSIVE, any_identity
from leaseforge_console.console import Console, ConsoleRequest, Place
from leaseforge_console.live import Live, Topic
from leaseforge_console.stream import Watched, stream
from leaseforge_console.views.snapshot import Snapshot


async def _load_nothing(_store: Store, _snapshot: Snapshot) -> None:
    """The rail is made of the snapshot alone."""


def _show_nothing(_snapshot: Snapshot, _data: object) -> None:
    return None


_STILL = Topic(_load_nothing)


@get("/live/still", **any_identity(**{PASSIVE: True}))
async def watch_still(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    live: NamedDependency[Live],
    section: FromQuery[str] = "",
) -> Stream:
    """Updates of the rail; `section` is the page's part of it."""
    return stream(request, console, live, Watched(_STILL, "live/rail.html", Place("", section), _show_nothing))
