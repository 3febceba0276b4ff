"""What the pages of lists of jobs share: how a page of one is read, and what stands above it."""

from leaseforge.searching import Found, search
from leaseforge.store import Store
from leaseforge_auth.saved_views import views_of
from leaseforge_console.views import listing
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.list_tools import ListTools, tools, wanted
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.visit import Visit


async def found_jobs(store: Store, snapshot: Snapshot, list_: JobList, asked: Asked) -> Found:
    """One page of what is asked for, in the order of the list."""
    return await store.run(
        search(
            wanted(list_, asked, snapshot.now),
            place=asked.place or None,
            limit=listing.PAGE_SIZE,
            infos=snapshot.queues,
        )
    )


def live_path(path: str, asked: Asked) -> str | None:
    """Where the list's updates are; None for a search."""
    # A search reads thousands of jobs: it is made when it is asked for, not every two seconds.
    return None if asked.looks else f"/live{path}{asked.query()}"


async def list_tools(visit: Visit, list_: JobList, asked: Asked) -> ListTools:
    """What stands above a list, with the views of whoever looks at it."""
    return tools(list_, asked, await views_of(visit.store, visit.user))
