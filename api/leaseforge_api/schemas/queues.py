"""Queues as the API shows them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from leaseforge.queues import QueueInfo, QueueLimits
from leaseforge.statistics import Rate
from leaseforge_api.schemas.values import Reason, seconds


class Frozen(Struct, frozen=True):
    """The moment the counts were read: what a purge that is given it removes, and nothing that came later."""

    sequence: Annotated[int, Meta(ge=0, le=2**53)]
    as_of_ms: Annotated[int, Meta(ge=0, le=2**53)]


class RateShown(Struct, frozen=True):
    """Jobs per second."""

    enqueued: float
    completed: float


class LimitsShown(Struct, frozen=True):
    """What the queue keeps to; null: it has no limit of its own, and retention is the product's."""

    max_running: int | None
    rate_per_second: float | None
    burst: int | None
    keep_seconds: float | None
    keep: int | None
    dead_keep_seconds: float | None
    dead_keep: int | None


class Queue(Struct, frozen=True):
    """A queue: how many jobs are in each state, and how long the oldest ready one has waited (null: none waits).

    `rate` is jobs per second over the last minute that is over. `totals` count what happened since the queue began.
    """

    name: str
    paused: bool
    counts: dict[str, int]
    oldest_ready_seconds: float | None
    rate: RateShown
    limits: LimitsShown
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


def queue(info: QueueInfo, rate: Rate) -> Queue:
    """A queue's snapshot as answers show it."""
    return Queue(
        name=info.name,
        paused=info.paused,
        counts={str(state): count for state, count in info.counts.items()},
        oldest_ready_seconds=info.oldest_ready_s,
        rate=RateShown(rate.enqueued, rate.completed),
        limits=_limits(info.limits),
        totals=dict(info.totals),
        frozen=Frozen(info.sequence, info.as_of_ms),
    )


def _limits(limits: QueueLimits) -> LimitsShown:
    return LimitsShown(
        max_running=limits.max_running,
        rate_per_second=limits.rate,
        burst=limits.burst,
        keep_seconds=seconds(limits.keep_ms),
        keep=limits.keep,
        dead_keep_seconds=seconds(limits.dead_keep_ms),
        dead_keep=limits.dead_keep,
    )
