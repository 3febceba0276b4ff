"""The audit trail as the API shows it."""

from typing import Any

from msgspec import Struct

from leaseforge_api.schemas.values import Instant, instant_of
from leaseforge_auth.audit.entries import Result
from leaseforge_auth.audit.search import Row


class AuditedAction(Struct, frozen=True):
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
    began_at: Instant | None
    ended_at: Instant | None
    result: str
    status: int | None
    detail: dict[str, Any]


class AuditPage(Struct, frozen=True):
    """A page of actions, newest first. `searched` of `total` entries were looked at to find it."""

    items: list[AuditedAction]
    searched: int
    total: int
    next: str | None


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
        began_at=instant_of((entry.began_at_ms or entry.at_ms) / 1000),
        ended_at=instant_of(entry.at_ms / 1000) if has_ended else None,
        result=entry.result,
        status=entry.status or None,
        detail=entry.detail,
    )
