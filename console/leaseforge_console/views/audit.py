"""The audit trail as a page: who did what, when, and how it ended."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode

import msgspec

from leaseforge_auth.audit.entries import Entry, Result
from leaseforge_auth.audit.search import Filter, Found, Row
from leaseforge_console.filters import plural, span

PAGE_SIZE = 50
MAX_TEXT = 200
MAX_DETAIL = 800
RESULTS = tuple(Result)
_UNREADABLE = "unreadable"
# Result -> tone and icon. An action without an outcome asks for somebody's eyes.
_LOOKS = {
    Result.OK: ("completed", "completed"),
    Result.REFUSED: ("cancelled", "cancelled"),
    Result.FAILED: ("dead", "dead"),
    Result.UNKNOWN: ("retrying", "warn"),
    _UNREADABLE: ("dead", "warn"),
}
_MEANINGS = {
    Result.OK: "It was done.",
    Result.REFUSED: "Nothing was changed: no permission, wrong input, or a state that does not allow it.",
    Result.FAILED: "A fault, or Redis was away. Something may have been changed: look at the target.",
    Result.UNKNOWN: "It began, and nothing was heard of its end: its server died, or still works on it. "
    "Something may have been changed: look at the target.",
}
_FOLDERS = {
    "queue": "/queues",
    "job": "/jobs",
    "dlq": "/jobs",
    "delayed": "/jobs",
    "user": "/users",
    "bulk": "/operations",
}
# What a refused request named may be anything; only what can be a name becomes a link.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]*", re.ASCII)
_CREDENTIALS = {"session": "a console session", "token": "an access token", "api_token": "an API token"}


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """The filters of the address, as text; `problems` names those that cannot be understood.

    `id` is that of one single action, as messages lead to it.
    """

    id: str = ""
    user: str = ""
    action: str = ""
    target: str = ""
    result: str = ""
    since: str = ""
    until: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)
    wanted: Filter = field(default_factory=Filter)

    @property
    def is_filtered(self) -> bool:
        """Whether anything is left out."""
        return bool(self._given())

    def path(self, page: str = "/audit", **changed: str | int) -> str:
        """The address of these filters, some of them changed."""
        query = urlencode({name: value for name, value in {**self._given(), **changed}.items() if value != ""})
        return page + (f"?{query}" if query else "")

    def _given(self) -> dict[str, str]:
        names = ("id", "user", "action", "target", "result", "since", "until")
        return {name: value for name in names if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One action. `at` is None for an entry that cannot be read; `path` leads to the target where it has a page.

    `about` names what was made, where the address of the action could not name it yet.
    """

    sequence: int
    at: datetime | None
    user: str
    user_path: str
    action: str
    action_path: str
    target: str
    about: str
    path: str
    result: str
    tone: str
    icon: str
    reason: str
    meaning: str
    facts: tuple[tuple[str, str], ...]
    detail: str


@dataclass(frozen=True, slots=True)
class AuditPage:
    """The page. `known_actions` are offered by the filter; `older` leads on, '' at the end."""

    query: AuditQuery
    rows: tuple[AuditRow, ...]
    known_actions: tuple[str, ...]
    results: tuple[Result, ...]
    searched: str
    unknown: int
    older: str
    newest: str
    export: str


def read_query(*, id: str = "", user: str, action: str, target: str, result: str, since: str, until: str) -> AuditQuery:
    """What the address asks for. Nothing is guessed: a value that is no such thing becomes a problem."""
    one, whose, what, of = (value.strip()[:MAX_TEXT] for value in (id, user, action, target))
    problems: dict[str, str] = {}
    if result and result not in RESULTS:
        problems["result"] = "No such result."
    begins, ends = _moment("since", since, problems), _moment("until", until, problems)
    if begins and ends and begins >= ends:
        problems["until"] = "Must be later than the begin."
    known = Result(result) if result in RESULTS else None
    return AuditQuery(
        one,
        whose,
        what,
        of,
        result=result if known else "",
        since=_typed(begins),
        until=_typed(ends),
        problems=problems,
        wanted=Filter(whose, what, of, known, _ms(begins), _ms(ends), one),
    )


def build(query: AuditQuery, found: Found | None, known_actions: Sequence[str], *, is_first: bool) -> AuditPage:
    """The page; `found` is None when nothing was looked for because of a problem."""
    rows = tuple(_row(row, query) for row in found.rows) if found else ()
    older = query.path(before=found.next_before) if found and found.next_before else ""
    return AuditPage(
        query,
        rows,
        tuple(known_actions),
        RESULTS,
        f"looked at {found.searched:,} of {plural(found.total, 'entry', 'entries')}" if found else "",
        sum(row.result == Result.UNKNOWN for row in rows),
        older,
        "" if is_first else query.path(),
        query.path("/audit/export"),
    )


def _row(row: Row, query: AuditQuery) -> AuditRow:
    entry = row.entry
    if entry is None:
        tone, icon = _LOOKS[_UNREADABLE]
        meaning = "The entry was damaged or written by a newer version. `leaseforge audit verify` says more."
        return AuditRow(row.sequence, None, "", "", "", "", "", "", "", _UNREADABLE, tone, icon, "", meaning, (), "")
    tone, icon = _LOOKS[entry.result]
    return AuditRow(
        sequence=row.sequence,
        at=datetime.fromtimestamp((entry.began_at_ms or entry.at_ms) / 1000, UTC),
        user=entry.user,
        user_path=query.path(id="", user=entry.user),
        action=entry.action,
        action_path=query.path(id="", action=entry.action),
        target=entry.target,
        about="" if entry.target else _made(entry),
        path=_page_of(entry),
        result=entry.result,
        tone=tone,
        icon=icon,
        reason=entry.reason,
        meaning=_MEANINGS[entry.result],
        facts=tuple((label, value) for label, value in _facts(entry, row.sequence) if value),
        detail=_pretty(entry),
    )


def _facts(entry: Entry, sequence: int) -> Sequence[tuple[str, str]]:
    took_ms = entry.at_ms - entry.began_at_ms if entry.began_at_ms else None
    return (
        ("Roles then", ", ".join(entry.roles)),
        ("Shown", _CREDENTIALS.get(entry.credential, entry.credential)),
        ("From", entry.address),
        ("Status", str(entry.status or "")),
        ("Took", "" if took_ms is None else span(took_ms / 1000)),
        ("Request", entry.request_id),
        ("Action id", entry.id),
        ("Entry", f"{sequence:,}"),
    )


def _pretty(entry: Entry) -> str:
    """The noted facts, not too much of them: a page of the largest ones would be half a megabyte."""
    if not entry.detail:
        return ""
    text = msgspec.json.format(msgspec.json.encode(entry.detail), indent=2).decode()
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL]}\n\N{HORIZONTAL ELLIPSIS} the export has all of it"


def _made(entry: Entry) -> str:
    name = entry.detail.get("username") or entry.detail.get("name") or ""
    return name[:MAX_TEXT] if isinstance(name, str) else ""


def _page_of(entry: Entry) -> str:
    """Where the target is to be seen, '' where it has no page of its own."""
    folder = _FOLDERS.get(entry.action.partition(".")[0], "")
    return f"{folder}/{entry.target}" if folder and _NAME.fullmatch(entry.target) else ""


def _moment(name: str, text: str, problems: dict[str, str]) -> datetime | None:
    """RFC 3339, or what a browser's own field for date and time sends; without a zone it is UTC."""
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        problems[name] = f"“{text.strip()[:40]}” is no date and time, as in 2026-11-30T08:15."
        return None
    return at


def _typed(at: datetime | None) -> str:
    """As fields for date and time take it; anything else they drop."""
    return at.isoformat(timespec="seconds").removesuffix("+00:00") if at else ""


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)
