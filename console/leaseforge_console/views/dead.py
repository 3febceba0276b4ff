"""Dead letters: groups by kind of error, the jobs of one or of all, and the confirmation of a purge."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from leaseforge.bulk_records import BulkAction
from leaseforge.jobs import DeadGroup, JobState
from leaseforge.queues import QueueInfo
from leaseforge.reads import Page
from leaseforge.searching import Found
from leaseforge_console.filters import plural
from leaseforge_console.views import listing
from leaseforge_console.views.asked import Asked, FilterForm, filter_form
from leaseforge_console.views.chosen import Choice, JobList, Selection, choices, fields, group_selection, selection
from leaseforge_console.views.list_tools import ListTools
from leaseforge_console.views.queues import TYPED_ABOVE, TYPED_WORD
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import Pages, shown

PAGE_SIZE = 50
_FIELDS = ("type", "text", "within")
_REST = "other"
"""The group that takes what is left when a queue has a thousand."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Jobs of a queue that failed alike. `path` leads to them."""

    key: str
    queue: str
    type: str
    kind: str
    message: str
    size: int
    first_at: datetime
    last_at: datetime
    path: str
    choices: tuple[Choice, ...]
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tabs:
    """Groups or jobs, of the same queue."""

    groups: int | None
    groups_path: str
    jobs: int
    jobs_path: str
    on_jobs: bool


@dataclass(frozen=True, slots=True)
class Groups:
    """The page of groups; `dead` counts the jobs in all of them."""

    summary: str
    queue: str
    dead: int
    tabs: Tabs
    form: FilterForm
    rows: tuple[GroupRow, ...]
    pages: Pages
    purge_path: str
    selection: Selection
    tools: ListTools | None = None


@dataclass(frozen=True, slots=True)
class Jobs:
    """The page of jobs; `group` is the one they are of, None for all kinds, or when it has run empty (`of_group`)."""

    summary: str
    queue: str
    of_group: bool
    group: GroupRow | None
    tabs: Tabs
    form: FilterForm
    rows: tuple[listing.ListedJob, ...]
    further: listing.Further
    selection: Selection
    is_narrowed: bool
    back: str
    tools: ListTools | None = None


@dataclass(frozen=True, slots=True)
class FrozenDead:
    """The dead jobs of a queue, or of all (''), as they were at a moment: those that die later are not touched."""

    queue: str
    count: int
    before_ms: int

    def seal(self, key: str) -> str:
        """Ties the numbers together, so that what comes back from the form is what was shown. `key`: the form token."""
        text = f"purge-dead:{self.queue}:{self.count}:{self.before_ms}"
        return hmac.digest(key.encode(), text.encode(), "sha256").hex()


@dataclass(frozen=True, slots=True)
class PurgeForm:
    """The confirmation: what a purge would remove, and until when it died."""

    frozen: FrozenDead
    frozen_at: datetime
    seal: str
    word: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class PurgeSent:
    """What the confirmation sends back. `reason` is for the audit trail, which reads it by itself."""

    count: int
    before_ms: int
    seal: str
    queue: str = ""
    word: str = ""
    reason: str = ""

    def frozen(self) -> FrozenDead:
        """The set that was shown, if the seal fits."""
        return FrozenDead(self.queue, self.count, self.before_ms)


def groups(found: Page[DeadGroup], asked: Asked, snapshot: Snapshot, tools: ListTools | None = None) -> Groups:
    """One page of the groups of a queue, or of all."""
    dead = snapshot.total(JobState.DEAD, asked.queue)
    return Groups(
        summary=f"{plural(dead, 'job')} in {plural(found.total, 'group')}" if dead else "Nothing has failed for good",
        queue=asked.queue,
        dead=dead,
        tabs=_tabs(asked.queue, found.total, dead, on_jobs=False),
        form=filter_form("/dead", asked, snapshot, fields=()),
        rows=tuple(group_row(group) for group in found.items),
        pages=_pages(found, asked),
        purge_path="/dead/purge" + Asked(queue=asked.queue).query(),
        selection=group_selection(asked.queue),
        tools=tools,
    )


def jobs(
    found: Found, group: DeadGroup | None, asked: Asked, snapshot: Snapshot, tools: ListTools | None = None
) -> Jobs:
    """One page of dead jobs."""
    dead = snapshot.total(JobState.DEAD, asked.queue)
    if asked.group:
        summary = f"{plural(group.size, 'job')} that failed alike" if group else "The group is empty"
    else:
        summary = plural(dead, "job") + (f" of {asked.queue}" if asked.queue else "")
    return Jobs(
        summary=summary,
        queue=asked.queue,
        of_group=bool(asked.group),
        group=group_row(group) if group else None,
        tabs=_tabs(asked.queue, None, dead, on_jobs=True),
        form=filter_form("/dead/jobs", asked, snapshot, fields=_FIELDS, time_label="Died within"),
        rows=listing.rows(found, snapshot.now),
        further=listing.further(found, "/dead/jobs", asked, snapshot.now),
        selection=selection(JobList.DEAD, asked, found.total),
        is_narrowed=asked.looks,
        back="/dead" + Asked(queue=asked.queue).query(),
        tools=tools,
    )


def group_row(group: DeadGroup) -> GroupRow:
    """A group with the way to its jobs."""
    asked = Asked(queue=group.queue, group=group.key)
    type_, kind = ("", "more than 1,000 kinds of error") if group.key == _REST else (group.type, group.kind)
    return GroupRow(
        key=group.key,
        queue=group.queue,
        type=type_,
        kind=kind,
        message=group.message,
        size=group.size,
        first_at=group.first_at,
        last_at=group.last_at,
        path="/dead/jobs" + asked.query(),
        choices=choices(JobList.DEAD, asked, BulkAction.RETRY, BulkAction.DELETE),
        fields=fields(JobList.DEAD, asked),
    )


def purge_form(queue: str, infos: list[QueueInfo], key: str) -> PurgeForm:
    """Freezes what the operator is shown: of several queues, what was dead when the first of them was read."""
    count = sum(info.counts.get(JobState.DEAD, 0) for info in infos)
    frozen = FrozenDead(queue, count, min((info.as_of_ms for info in infos), default=0))
    return _form(frozen, key)


def problem_of(frozen: FrozenDead, sent: PurgeSent, key: str) -> PurgeForm | None:
    """The confirmation to show again because something is wrong with what was sent, or None."""
    if frozen.count > TYPED_ABOVE and sent.word.strip().lower() != TYPED_WORD:
        return _form(frozen, key, problem=f"Type the word {TYPED_WORD} to confirm.")
    return None


def is_as_shown(frozen: FrozenDead, sent: PurgeSent, key: str) -> bool:
    """Whether this session was shown exactly this set."""
    return hmac.compare_digest(sent.seal.encode(), frozen.seal(key).encode())


def _form(frozen: FrozenDead, key: str, *, problem: str | None = None) -> PurgeForm:
    word = TYPED_WORD if frozen.count > TYPED_ABOVE else None
    frozen_at = datetime.fromtimestamp(frozen.before_ms / 1000, UTC)
    return PurgeForm(frozen, frozen_at, frozen.seal(key), word, problem)


def _tabs(queue: str, groups: int | None, jobs: int, *, on_jobs: bool) -> Tabs:
    query = Asked(queue=queue).query()
    return Tabs(groups, f"/dead{query}", jobs, f"/dead/jobs{query}", on_jobs)


def _pages(found: Page[DeadGroup], asked: Asked) -> Pages:
    def path(offset: int) -> str:
        query = Asked(queue=asked.queue).query()
        return f"/dead{query}" + (f"{'&' if query else '?'}offset={offset}" if offset else "")

    last = found.offset + len(found.items)
    return Pages(
        shown(found.offset, len(found.items), found.total, "group"),
        path(max(found.offset - PAGE_SIZE, 0)) if found.offset else None,
        path(found.offset + PAGE_SIZE) if last < found.total and found.items else None,
    )
