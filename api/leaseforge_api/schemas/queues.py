"""Queues as the API shows them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from leaseforge.queues import QueueInfo
from leaseforge_api.schemas.values import Reason


class Frozen(Struct, frozen=True):
    """The moment the counts were read: what a purge that is given it removes, and nothing that came later."""

    sequence: Annotated[int, Meta(ge=0, le=2**53)]
    as_of_ms: Annotated[int, Meta(ge=0, le=2**53)]


class Queue(Struct, frozen=True):
    """A queue: how many jobs are in each state, and how long the oldest ready one has waited (null: none waits).

    `rate` and `limits` are null as long as none are set. `totals` count what happened since the queue began.
    """

    name: str
    paused: bool
    counts: dict[str, int]
    oldest_ready_seconds: float | None
    rate: None
    limits: None
    totals: dict[str, int]
    frozen: Frozen


class QueueAction(Struct, frozen=True, forbid_unknown_fields=True):
    """Why it is done, for the log; may be left out."""

    reason: Reason | None = None


class PurgeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What to remove: the ready jobs of the moment `frozen`, as the queue showed it; left out, of this moment."""

    frozen: Frozen | UnsetType = UNSET
    reason: Reason | None = None


class PurgeAnswer(Struct, frozen=True):
    """How many jobs were removed."""

    removed: Annotated[int, Meta(ge=0)]


def queue(info: QueueInfo) -> Queue:
    """A queue's snapshot as answers show it."""
    return Queue(
        name=info.name,
        paused=info.paused,
        counts={str(state): count for state, count in info.counts.items()},
        oldest_ready_seconds=info.oldest_ready_s,
        rate=None,
        limits=None,
        totals=dict(info.totals),
        frozen=Frozen(info.sequence, info.as_of_ms),
    )
