"""The stream behind pages that stand still: forms, searches, lists of people.

Nothing on such a page is replaced but the counts of the rail. It is there so that every open tab finds out when its
session was ended.
"""

from collections.abc import Hashable

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Stream

from leaseforge.store import Store
from leaseforge_auth.guards import PASSIVE, any_identity
from leaseforge_console.console import Place
from leaseforge_console.live import Topic
from leaseforge_console.stream import Watched
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit


async def load_nothing(_store: Store, _snapshot: Snapshot, *_: Hashable) -> None:
    """The snapshot says it all: as for the rail."""


def _show_nothing(_snapshot: Snapshot, _data: object) -> None:
    return None


_STILL = Topic(load_nothing)


@get("/live/still", **any_identity(**{PASSIVE: True}))
async def watch_still(visit: NamedDependency[Visit], section: FromQuery[str] = "") -> Stream:
    """Updates of the rail; `section` is the page's part of it."""
    return visit.watch(Watched(_STILL, "live/rail.html", Place("", section), _show_nothing))
