"""The audit trail as the API shows it."""

from msgspec import Struct

from leaseforge_auth.audit.lines import AuditedAction


class AuditPage(Struct, frozen=True):
    """A page of actions, newest first. `searched` of `total` entries were looked at to find it."""

    items: list[AuditedAction]
    searched: int
    total: int
    next: str | None
