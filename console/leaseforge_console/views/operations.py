"""Bulk operations as a list: the newest first, all of them or those of some states."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from leaseforge import bulk
from leaseforge.bulk_records import BulkOperation, BulkState
from leaseforge.reads import Page
from leaseforge_console.filters import plural
from leaseforge_console.views.bulk_words import StateBadge, scope_line, state_badge, title
from leaseforge_console.views.progress import Progress, pace_words, progress, time_left
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import Pages, shown

PAGE_SIZE = 50
STATES: Mapping[str, tuple[str, ...]] = {
    "": tuple(BulkState),
    "open": (BulkState.COLLECTING, BulkState.READY, BulkState.RUNNING, BulkState.PAUSED, BulkState.STOPPED),
    "stopped": (BulkState.STOPPED, BulkState.FAILED),
    "done": (BulkState.DONE,),
    "aborted": (BulkState.ABORTED,),
    "dropped": (bulk.DROPPED,),
}
"""What the tabs show. What was dropped before it began did nothing: it is in no tab but its own."""
_LABELS = {
    "": "All",
    "open": "Not over",
    "stopped": "Stopped or failed",
    "done": "Done",
    "aborted": "Aborted",
    "dropped": "Never begun",
}


@dataclass(frozen=True, slots=True)
class Tab:
    """Operations of some states."""

    label: str
    path: str
    current: bool


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation. `note` is what is to be known of it beside its counts; `user` is who asked for it."""

    id: str
    path: str
    title: str
    scope: str
    badge: StateBadge
    user: str
    at: datetime | None
    progress: Progress
    done: int
    skipped: int
    failed: int
    note: str


@dataclass(frozen=True, slots=True)
class Operations:
    """The page."""

    summary: str
    tabs: tuple[Tab, ...]
    which: str
    rows: tuple[OperationRow, ...]
    pages: Pages


def build(found: Page[BulkOperation], which: str, snapshot: Snapshot) -> Operations:
    """One page of the operations of the last week."""
    going = sum(operation.state is BulkState.RUNNING for operation in found.items)
    summary = plural(found.total, "operation") + (f" {_LABELS[which].lower()}" if which else "") + " in the last 7 days"
    return Operations(
        summary=summary + (f" · {going:,} running" if going else ""),
        tabs=tuple(Tab(label, _path(name, 0), name == which) for name, label in _LABELS.items()),
        which=which,
        rows=tuple(row(operation, snapshot.now) for operation in found.items),
        pages=_pages(found, which),
    )


def row(operation: BulkOperation, now: datetime) -> OperationRow:
    """One operation with its way to its page."""
    counts, far = operation.counts, progress(operation, now)
    note = operation.error
    if operation.state is BulkState.RUNNING:
        note = " · ".join(word for word in (pace_words(far), time_left(far)) if word)
    return OperationRow(
        id=operation.id,
        path=f"/operations/{operation.id}",
        title=title(operation),
        scope=scope_line(operation.order),
        badge=state_badge(operation),
        user=operation.order.created_by,
        at=operation.created_at,
        progress=far,
        done=counts.done,
        skipped=counts.changed + counts.gone,
        failed=sum(counts.failed.values()),
        note=note,
    )


def _path(which: str, offset: int) -> str:
    query = "&".join(part for part in (f"state={which}" if which else "", f"offset={offset}" if offset else "") if part)
    return "/operations" + (f"?{query}" if query else "")


def _pages(found: Page[BulkOperation], which: str) -> Pages:
    last = found.offset + len(found.items)
    return Pages(
        shown(found.offset, len(found.items), found.total, "operation"),
        _path(which, max(found.offset - PAGE_SIZE, 0)) if found.offset else None,
        _path(which, found.offset + PAGE_SIZE) if last < found.total and found.items else None,
    )
