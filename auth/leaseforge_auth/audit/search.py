"""Reads the audit trail for people: one row an action, newest first, with filters."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec

from leaseforge.store import Store
from leaseforge_auth.audit import calls
from leaseforge_auth.audit.entries import Entry, Result, Step, Stored

SEARCHED_AT_MOST = 5_000
"""Entries one page looks at; a filter that finds little says how far it came."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which actions are wanted; None or '' for any. `action` also matches a whole resource (`queue`). Times in ms.

    `id` is that of one single action.
    """

    user: str = ""
    action: str = ""
    target: str = ""
    result: Result | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    id: str = ""

    def matches(self, entry: Entry) -> bool:
        """Whether this action is one of them."""
        began = entry.began_at_ms or entry.at_ms
        return (
            (not self.id or entry.id == self.id)
            and (not self.user or entry.user == self.user)
            and (not self.action or entry.action == self.action or entry.action.startswith(f"{self.action}."))
            and (not self.target or entry.target == self.target)
            and (self.result is None or entry.result == self.result)
            and (self.since_ms is None or began >= self.since_ms)
            and (self.until_ms is None or began < self.until_ms)
        )

    def is_past(self, entry: Entry) -> bool:
        """Whether nothing older than this entry can match. An action may take a while, so an hour is given."""
        return self.since_ms is not None and entry.at_ms < self.since_ms - 3_600_000


class Row(msgspec.Struct, frozen=True):
    """One action: its outcome, or the intent while it has none. An unreadable entry has none either."""

    sequence: int
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class Found:
    """A page. `next_before` continues the search, None at its end; `searched` of `total` entries were looked at."""

    rows: tuple[Row, ...]
    searched: int
    total: int
    next_before: int | None


async def search(store: Store, wanted: Filter, *, before: int | None, limit: int) -> Found:
    """The next page of actions, newest first, older than the entry `before`."""
    rows: list[Row] = []
    searched, total = 0, 0
    while searched < SEARCHED_AT_MOST:
        stretch = await store.run(calls.read_back(before))
        total = stretch.total
        for stored in stretch.entries:
            searched += 1
            before = stored.sequence
            entry = stored.entry()
            if entry is not None and wanted.is_past(entry):
                return Found(tuple(rows), searched, total, None)
            if _is_row(stored, entry) and (entry is None or wanted.matches(entry)):
                rows.append(Row(stored.sequence, entry))
                if len(rows) == limit:
                    return Found(tuple(rows), searched, total, before if before > 1 else None)
        if len(stretch.entries) < calls.MOST_AT_ONCE:
            return Found(tuple(rows), searched, total, None)
    return Found(tuple(rows), searched, total, before)


async def export(store: Store, wanted: Filter) -> AsyncIterator[Row]:
    """All actions that match, oldest first, as the trail stands when each stretch is read."""
    after = 0
    while True:
        stretch = await store.run(calls.read_on(after))
        for stored in stretch.entries:
            after = stored.sequence
            entry = stored.entry()
            if _is_row(stored, entry) and (entry is None or wanted.matches(entry)):
                yield Row(stored.sequence, entry)
        if len(stretch.entries) < calls.MOST_AT_ONCE:
            return


def _is_row(stored: Stored, entry: Entry | None) -> bool:
    """Whether this entry stands for its action: the outcome does, or the intent as long as there is none."""
    return entry is None or entry.step is Step.OUTCOME or stored.is_open
