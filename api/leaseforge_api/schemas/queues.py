"""Queues as the API shows them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from leaseforge.queues import LIMIT_BOUNDS, QueueInfo, QueueLimits
from leaseforge.statistics import Rate
from leaseforge_api.schemas.values import Reason, seconds


def _bounds(name: str, *, per: int = 1) -> Meta:
    low, high = (bound if per == 1 else bound / per for bound in LIMIT_BOUNDS[name])
    return Meta(ge=low, le=high)


def _ms(value: float | UnsetType | None) -> int | UnsetType | None:
    return round(value * 1000) if isinstance(value, int | float) else value


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


class ConfigureRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits to change: a value sets one, null takes it away, what is left out stays. Times are seconds.

    `max_running` jobs at a time over all workers; `rate_per_second` claims with up to `burst` saved up. Completed and
    cancelled jobs are kept `keep_seconds` and at most `keep` of each, dead ones `dead_keep_seconds` and `dead_keep`.
    """

    max_running: Annotated[int, _bounds("max_running")] | UnsetType | None = UNSET
    rate_per_second: Annotated[float, _bounds("rate")] | UnsetType | None = UNSET
    burst: Annotated[int, _bounds("burst")] | UnsetType | None = UNSET
    keep_seconds: Annotated[float, _bounds("keep_ms", per=1000)] | UnsetType | None = UNSET
    keep: Annotated[int, _bounds("keep")] | UnsetType | None = UNSET
    dead_keep_seconds: Annotated[float, _bounds("dead_keep_ms", per=1000)] | UnsetType | None = UNSET
    dead_keep: Annotated[int, _bounds("dead_keep")] | UnsetType | None = UNSET
    reason: Reason | None = None

    def changes(self) -> dict[str, float | None]:
        """What is asked for, in the engine's names and units."""
        asked: dict[str, float | UnsetType | None] = {
            "max_running": self.max_running,
            "rate": self.rate_per_second,
            "burst": self.burst,
            "keep_ms": _ms(self.keep_seconds),
            "keep": self.keep,
            "dead_keep_ms": _ms(self.dead_keep_seconds),
            "dead_keep": self.dead_keep,
        }
        return {name: value for name, value in asked.items() if not isinstance(value, UnsetType)}


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
        limits=limits_shown(info.limits),
        totals=dict(info.totals),
        frozen=Frozen(info.sequence, info.as_of_ms),
    )


def limits_shown(limits: QueueLimits) -> LimitsShown:
    """Limits as answers show them."""
    return LimitsShown(
        max_running=limits.max_running,
        rate_per_second=limits.rate,
        burst=limits.burst,
        keep_seconds=seconds(limits.keep_ms),
        keep=limits.keep,
        dead_keep_seconds=seconds(limits.dead_keep_ms),
        dead_keep=limits.dead_keep,
    )
