"""Audited actions as they leave the house: one JSON object each, the same for API, console and command line."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from leaseforge_auth.audit.entries import Result
from leaseforge_auth.audit.search import Row

MEDIA_TYPE = "application/x-ndjson"
FILE_NAME = "audit.jsonl"
_Instant = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]


class AuditedAction(msgspec.Struct, frozen=True):
    """What somebody did or tried to do.

    `result` is ok, refused, failed, or unknown while (or because) nothing was heard of its end; `status` and `ended_at`
    are then null. `user` is null for somebody who was not known. An entry that cannot be read has nothing but its
    `sequence` and the result `unreadable`.
    """

    sequence: int
    id: str | None
    action: str | None
    target: str | None
    user: str | None
    roles: list[str]
    credential: str | None
    address: str | None
    reason: str | None
    request_id: str | None
    began_at: _Instant | None
    ended_at: _Instant | None
    result: str
    status: int | None
    detail: dict[str, Any]


def audited(row: Row) -> AuditedAction:
    """One row of the trail."""
    entry = row.entry
    if entry is None:
        return AuditedAction(
            row.sequence, None, None, None, None, [], None, None, None, None, None, None, "unreadable", None, {}
        )
    has_ended = entry.result is not Result.UNKNOWN
    return AuditedAction(
        sequence=row.sequence,
        id=entry.id,
        action=entry.action,
        target=entry.target or None,
        user=entry.user or None,
        roles=[*entry.roles],
        credential=entry.credential or None,
        address=entry.address or None,
        reason=entry.reason or None,
        request_id=entry.request_id or None,
        began_at=_instant(entry.began_at_ms or entry.at_ms),
        ended_at=_instant(entry.at_ms) if has_ended else None,
        result=entry.result,
        status=entry.status or None,
        detail=entry.detail,
    )


def as_line(row: Row) -> bytes:
    """One row as a line of JSON."""
    return msgspec.json.encode(audited(row)) + b"\n"


def _instant(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
