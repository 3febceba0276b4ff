"""All jobs: of every queue and state, narrowed by what the address asks for."""

from dataclasses import dataclass, replace

from leaseforge.jobs import JobState
from leaseforge.searching import Found
from leaseforge_console.filters import plural
from leaseforge_console.views import listing
from leaseforge_console.views.asked import Asked, FilterForm, filter_form
from leaseforge_console.views.chosen import JobList, Selection, selection
from leaseforge_console.views.list_tools import ListTools
from leaseforge_console.views.queue import TABS
from leaseforge_console.views.snapshot import Snapshot

_FIELDS = ("type", "tag", "text", "within")
_ORDER = {
    "": "running first, then those that wait, then those that ended",
    JobState.READY: "next to run first",
    JobState.RUNNING: "lease that ends first",
    JobState.RETRYING: "next due first",
    JobState.SCHEDULED: "next due first",
}


@dataclass(frozen=True, slots=True)
class StateTab:
    """Jobs of one state, or of all (''). `count` is None where only a search could tell."""

    state: str
    label: str
    count: int | None
    path: str
    current: bool


@dataclass(frozen=True, slots=True)
class Jobs:
    """The page."""

    summary: str
    title: str
    order: str
    tabs: tuple[StateTab, ...]
    form: FilterForm
    rows: tuple[listing.ListedJob, ...]
    further: listing.Further
    selection: Selection
    is_narrowed: bool
    state: str
    tools: ListTools | None = None


def build(found: Found, asked: Asked, snapshot: Snapshot, tools: ListTools | None = None) -> Jobs:
    """One page of what was found."""
    counts = {state.value: snapshot.total(state, asked.queue) for state in TABS}
    kept = sum(counts.values())
    summary = f"{plural(kept, 'job')} kept" + (f" in {asked.queue}" if asked.queue else "")
    return Jobs(
        summary=summary,
        title=asked.state.capitalize() or "All states",
        order=_ORDER.get(asked.state, "newest first"),
        tabs=tabs("/jobs", asked, {"": kept, **counts}),
        form=filter_form("/jobs", asked, snapshot, fields=_FIELDS),
        rows=listing.rows(found, snapshot.now),
        further=listing.further(found, "/jobs", asked, snapshot.now),
        selection=selection(JobList.JOBS, asked, found.total),
        is_narrowed=asked.is_narrowed,
        state=asked.state,
        tools=tools,
    )


def tabs(path: str, asked: Asked, counts: dict[str, int]) -> tuple[StateTab, ...]:
    """A tab for each state; filters stay as they are. What is counted is known only without them."""
    return tuple(
        StateTab(
            state=state,
            label=state.capitalize() or "All",
            count=None if asked.looks else count,
            path=path + replace(asked, state=state, place="").query(),
            current=state == asked.state,
        )
        for state, count in counts.items()
    )
