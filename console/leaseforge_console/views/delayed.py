"""Jobs that wait for their time, and the confirmation of a cancellation."""

from dataclasses import dataclass
from datetime import datetime

from leaseforge.jobs import Job, JobState
from leaseforge.searching import Found
from leaseforge_console.filters import plural
from leaseforge_console.views import listing
from leaseforge_console.views.asked import Asked, FilterForm, filter_form
from leaseforge_console.views.chosen import JobList, Selection, selection
from leaseforge_console.views.jobs import StateTab, tabs
from leaseforge_console.views.list_tools import ListTools
from leaseforge_console.views.queue import told_when
from leaseforge_console.views.snapshot import Snapshot

DELAYED = (JobState.SCHEDULED, JobState.RETRYING)
_FIELDS = ("type", "tag")


@dataclass(frozen=True, slots=True)
class Delayed:
    """The page: the job that is due first stands first."""

    summary: str
    tabs: tuple[StateTab, ...]
    form: FilterForm
    rows: tuple[listing.ListedJob, ...]
    further: listing.Further
    selection: Selection
    is_narrowed: bool
    state: str
    tools: ListTools | None = None


@dataclass(frozen=True, slots=True)
class CancelForm:
    """The confirmation; a job that waits no longer cannot be cancelled here (`can_cancel`)."""

    id: str
    queue: str
    type: str
    state: JobState
    when: str
    can_cancel: bool
    operation: str


@dataclass(frozen=True, slots=True)
class CancelSent:
    """What the confirmation sends back. `reason` is for the audit trail, which reads it by itself."""

    operation: str
    reason: str = ""


def build(found: Found, asked: Asked, snapshot: Snapshot, tools: ListTools | None = None) -> Delayed:
    """One page of what waits."""
    counts = {state.value: snapshot.total(state, asked.queue) for state in DELAYED}
    together = sum(counts.values())
    where = f" of {asked.queue}" if asked.queue else ""
    return Delayed(
        summary=f"{plural(together, 'job')}{where} {'waits for its' if together == 1 else 'wait for their'} time",
        tabs=tabs("/delayed", asked, {"": together, **counts}),
        form=filter_form("/delayed", asked, snapshot, fields=_FIELDS),
        rows=listing.rows(found, snapshot.now),
        further=listing.further(found, "/delayed", asked, snapshot.now),
        selection=selection(JobList.DELAYED, asked, found.total),
        is_narrowed=asked.is_narrowed,
        state=asked.state,
        tools=tools,
    )


def cancel_form(job: Job, now: datetime) -> CancelForm:
    """What would be cancelled."""
    when, _ = told_when(job, now)
    return CancelForm(job.id, job.queue, job.type, job.state, when, job.state in DELAYED, f"rev-{job.rev}")
