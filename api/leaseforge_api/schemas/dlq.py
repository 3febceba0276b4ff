"""Dead letters as the API shows them and as they are asked for."""

from msgspec import UNSET, Struct, UnsetType

from leaseforge.jobs import DeadGroup
from leaseforge_api.schemas.lists import Moment
from leaseforge_api.schemas.values import Instant, Reason, instant


class DeadGroupShown(Struct, frozen=True):
    """Dead jobs of one queue that failed alike: same type, kind of error and message, but for numbers and names in it.

    `GET /api/dlq?queue=<queue>&group=<key>` lists them.
    """

    queue: str
    key: str
    type: str
    kind: str
    message: str
    size: int
    first_at: Instant
    last_at: Instant


class PurgeDeadRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What to remove: what died before the moment `frozen`, as `GET /api/dlq` showed it; left out, before now."""

    frozen: Moment | UnsetType = UNSET
    reason: Reason | None = None


def dead_group_shown(group: DeadGroup) -> DeadGroupShown:
    """A dead group as answers show it."""
    return DeadGroupShown(
        queue=group.queue,
        key=group.key,
        type=group.type,
        kind=group.kind,
        message=group.message,
        size=group.size,
        first_at=instant(group.first_at),
        last_at=instant(group.last_at),
    )
