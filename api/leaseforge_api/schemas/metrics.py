"""What happened over time, as the API shows it."""

from msgspec import Struct

from leaseforge.statistics import Point, TypeShape, quantile
from leaseforge_api.schemas.values import Instant, instant


class PointShown(Struct, frozen=True):
    """What happened in the `step_seconds` from `at` on: jobs, and for `failed` and `fenced` attempts."""

    at: Instant
    enqueued: int
    completed: int
    failed: int
    retried: int
    dead: int
    recovered: int
    fenced: int


class ThroughputShown(Struct, frozen=True):
    """A series without gaps, oldest first, of one queue or (null) of all; the time of its last point may go on."""

    queue: str | None
    step_seconds: int
    points: list[PointShown]


class Quantiles(Struct, frozen=True):
    """Durations in ms that half, 95 and 99 of a hundred stay under; null: none was measured.

    They are counted in classes that double (1, 2, 4 ... 16,384 ms and more), and interpolated inside a class.
    """

    p50: float | None
    p95: float | None
    p99: float | None


class TypeShown(Struct, frozen=True):
    """How one job type did: attempts that completed or failed, jobs that died, waiting and running times."""

    type: str
    completed: int
    failed: int
    dead: int
    wait_ms: Quantiles
    run_ms: Quantiles


def point_shown(point: Point) -> PointShown:
    """A point as answers show it."""
    return PointShown(
        at=instant(point.at),
        enqueued=point.enqueued,
        completed=point.completed,
        failed=point.failed,
        retried=point.retried,
        dead=point.dead,
        recovered=point.recovered,
        fenced=point.fenced,
    )


def type_shown(shape: TypeShape) -> TypeShown:
    """A job type as answers show it."""
    return TypeShown(
        type=shape.type,
        completed=shape.completed,
        failed=shape.failed,
        dead=shape.dead,
        wait_ms=_quantiles(shape.wait),
        run_ms=_quantiles(shape.run),
    )


def _quantiles(classes: tuple[int, ...]) -> Quantiles:
    p50, p95, p99 = (
        None if (ms := quantile(classes, fraction)) is None else round(ms, 1) for fraction in (0.5, 0.95, 0.99)
    )
    return Quantiles(p50, p95, p99)
