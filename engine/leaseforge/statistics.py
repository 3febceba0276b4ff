"""What happened over time: throughput, and how long jobs waited and ran, of one queue or of all.

Queues count into buckets of 10 s, which are rolled up to 5 min and 1 h. What concerns all queues
together is added up every few seconds by one server process (`add_up`), so that a chart costs the
same with one queue and with a thousand.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

from leaseforge import reads
from leaseforge.calls import Arg, Batch, Call, Plan, queue_keys
from leaseforge.keys import SYSTEM, system_key
from leaseforge.queues import check_queue_name
from leaseforge.records import pairs, whole
from leaseforge.scripts import ENGINE

SERIES = ("enqueued", "completed", "failed", "retried", "dead", "recovered", "fenced")
CLASSES = 16


class Step(IntEnum):
    """Seconds a bucket spans."""

    TEN_SECONDS = 10
    FIVE_MINUTES = 300
    HOUR = 3600


KEPT: Mapping[Step, int] = {Step.TEN_SECONDS: 720, Step.FIVE_MINUTES: 312, Step.HOUR: 192}
"""Buckets that exist of each step: 2 h, 26 h, 8 days."""


@dataclass(frozen=True, slots=True)
class Point:
    """What happened in the `step_s` seconds from `at` on."""

    at: datetime
    enqueued: int
    completed: int
    failed: int
    retried: int
    dead: int
    recovered: int
    fenced: int


@dataclass(frozen=True, slots=True)
class Throughput:
    """A series without gaps, oldest first; the last point's time is not over yet."""

    step_s: int
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class TypeShape:
    """One job type over a span of time. Class c of `wait` and `run` counts durations under 2^c ms."""

    type: str
    completed: int
    failed: int
    dead: int
    wait: tuple[int, ...]
    run: tuple[int, ...]


def step_for(seconds: int) -> Step:
    """The finest step whose buckets cover `seconds` in at most about 300 points."""
    for step in (Step.TEN_SECONDS, Step.FIVE_MINUTES):
        if seconds <= step * min(KEPT[step], 312):
            return step
    return Step.HOUR


def throughput(*, seconds: int = 900, step: Step | None = None, queue: str | None = None) -> Plan[Throughput]:
    """What happened in the last `seconds`, of one queue or of all; beyond 8 days nothing is kept."""
    step = step or step_for(seconds)
    buckets = max(1, min(KEPT[step], seconds // step))
    name = SYSTEM if queue is None else check_queue_name(queue)
    now_ms, rows = yield from _stats_call(name, step, buckets)
    first = datetime.fromtimestamp((now_ms // 1000 // step - buckets + 1) * step, UTC)
    points = (Point(first + timedelta(seconds=step * index), *row) for index, row in enumerate(rows))
    return Throughput(step, tuple(points))


@dataclass(frozen=True, slots=True)
class Rate:
    """Jobs per second that came to a queue and completed there, over the last minute that is over."""

    enqueued: float
    completed: float


def rates(queues: Sequence[str]) -> Plan[list[Rate]]:
    """The present rate of each queue, in the order given."""
    buckets = 7
    tables = yield from Batch([_stats_call(check_queue_name(name), Step.TEN_SECONDS, buckets) for name in queues])
    found = []
    for _, rows in tables:
        enqueued, completed = (sum(row[SERIES.index(name)] for row in rows[:-1]) for name in ("enqueued", "completed"))
        seconds = Step.TEN_SECONDS * (buckets - 1)
        found.append(Rate(round(enqueued / seconds, 3), round(completed / seconds, 3)))
    return found


def shapes(queue: str, *, seconds: int = 900) -> Plan[list[TypeShape]]:
    """How the job types of a queue did in about the last `seconds`, by type name; beyond a day nothing is read.

    Up to 2 min it is added up from buckets of 10 s, up to an hour from those of 5 min (which have the
    last seconds only after the next sweep), beyond that from those of 1 h.
    """
    step = next((step for step in Step if seconds <= step * _SHAPE_BUCKETS), Step.HOUR)
    buckets = max(1, min(2 * _SHAPE_BUCKETS, -(-seconds // step)))
    check_queue_name(queue)
    newest, sums = yield from _shapes_call(queue, step, -1, min(_SHAPE_CHUNK, buckets))
    rest = [
        _shapes_call(queue, step, newest - passed, min(_SHAPE_CHUNK, buckets - passed))
        for passed in range(_SHAPE_CHUNK, buckets, _SHAPE_CHUNK)
    ]
    for _, further in (yield from Batch(rest)):
        for field, value in further.items():
            sums[field] = sums.get(field, 0) + value
    return _shapes(sums)


def added_up(parts: Iterable[Sequence[TypeShape]]) -> list[TypeShape]:
    """The shapes of several queues together, by type name."""
    sums: dict[str, TypeShape] = {}
    for shape in (one for part in parts for one in part):
        before = sums.get(shape.type)
        sums[shape.type] = shape if before is None else _sum(before, shape)
    return [sums[name] for name in sorted(sums)]


def _sum(one: TypeShape, other: TypeShape) -> TypeShape:
    return TypeShape(
        type=one.type,
        completed=one.completed + other.completed,
        failed=one.failed + other.failed,
        dead=one.dead + other.dead,
        wait=tuple(a + b for a, b in zip(one.wait, other.wait, strict=True)),
        run=tuple(a + b for a, b in zip(one.run, other.run, strict=True)),
    )


_SHAPE_BUCKETS = 12
_SHAPE_CHUNK = 4
"""What one call reads: with 100 busy job types it takes Redis 10 ms."""


def quantile(classes: Sequence[int], fraction: float) -> float | None:
    """The duration in ms that `fraction` of the counted ones stay under, interpolated inside its class."""
    total = sum(classes)
    if not total:
        return None
    wanted, seen = fraction * total, 0
    for index, size in enumerate(classes):
        if size and seen + size >= wanted:
            low = 0.0 if index == 0 else 2.0 ** (index - 1)
            return low + (2.0**index - low) * (wanted - seen) / size
        seen += size
    return 2.0 ** (CLASSES - 1)


def add_up(*, holder: str, missed_s: int = 30) -> Plan[bool]:
    """Adds the last buckets of all queues together; False if another process has the office.

    `missed_s` is how long ago this was last done: so much of the past is added up once more.
    """
    term = yield from lead("stats", holder=holder, ttl_ms=30_000)
    if not term:
        return False
    names = yield from reads.queue_names()
    yield from Batch([roll_call(name) for name in names])
    for step in Step:
        buckets = min(KEPT[step], missed_s // step + 3)
        tables = yield from Batch([_stats_call(name, step, buckets) for name in names])
        yield from add_call(step, buckets, tables)
    return True


def lead(office: str, *, holder: str, ttl_ms: int) -> Plan[int]:
    """The term of `office` if `holder` has it now, else 0. Ask again before `ttl_ms` is over to keep it."""
    call: Call[int] = Call(
        ENGINE.load("lead"),
        (("office", system_key(f"office:{office}")),),
        (("holder", holder), ("ttl_ms", ttl_ms)),
        lambda raw: int(raw),
    )
    return (yield from call)


def _stats_call(queue: str, step: Step, buckets: int) -> Call[tuple[int, list[list[int]]]]:
    def read(raw: Sequence[Any]) -> tuple[int, list[list[int]]]:
        return raw[0], [[whole(value) for value in row] for row in raw[1]]

    args = (("step", int(step)), ("buckets", buckets))
    return Call(ENGINE.load("read_stats"), queue_keys(queue), args, read, SERIES)


def _shapes_call(queue: str, step: Step, newest: int, buckets: int) -> Call[tuple[int, dict[str, int]]]:
    def read(raw: Sequence[Any]) -> tuple[int, dict[str, int]]:
        return raw[0], {field: whole(value) for field, value in pairs(raw[1]).items()}

    args = (("step", int(step)), ("newest", newest), ("buckets", buckets))
    return Call(ENGINE.load("read_shapes"), queue_keys(queue), args, read)


def roll_call(queue: str) -> Call[int]:
    """Workers roll up with each tick; this is for a queue that has none."""
    return Call(ENGINE.load("roll"), queue_keys(queue, "meta"), (), lambda raw: int(raw))


def add_call(step: Step, buckets: int, tables: Sequence[tuple[int, list[list[int]]]]) -> Call[int]:
    """Stores the sums of what several queues counted: for each its time and its last `buckets` rows."""
    sums: dict[tuple[int, str], int] = {}
    for now_ms, rows in tables:
        first = now_ms // 1000 // step - buckets + 1
        for index, row in enumerate(rows):
            for name, value in zip(SERIES, row, strict=True):
                if value:
                    sums[first + index, name] = sums.get((first + index, name), 0) + value
    rest: list[Arg] = [word for (bucket, name), value in sums.items() for word in (bucket, name, value)]
    args = (("step", int(step)), ("ttl_ms", KEPT[step] * step * 1000))
    return Call(ENGINE.load("add_stats"), queue_keys(SYSTEM), args, lambda raw: int(raw), rest)


def _shapes(fields: Mapping[str, int]) -> list[TypeShape]:
    counted: dict[str, dict[str, int]] = {}
    for field, value in fields.items():
        kind, _, rest = field.partition(":")
        if kind in ("wait", "run"):
            number, _, name = rest.partition(":")
            counted.setdefault(name, {})[f"{kind}:{number}"] = value
        else:
            counted.setdefault(rest, {})[kind] = value
    return [
        TypeShape(
            type=name,
            completed=of.get("completed", 0),
            failed=of.get("failed", 0),
            dead=of.get("dead", 0),
            wait=tuple(of.get(f"wait:{number}", 0) for number in range(CLASSES)),
            run=tuple(of.get(f"run:{number}", 0) for number in range(CLASSES)),
        )
        for name, of in sorted(counted.items())
    ]
