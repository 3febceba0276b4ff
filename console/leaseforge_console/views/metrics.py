"""The Metrics page: what went through, what went wrong, and how long jobs waited and ran."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from leaseforge.statistics import Throughput
from leaseforge_console.charts import Chart
from leaseforge_console.filters import plural
from leaseforge_console.views.figures import Figures, Histogram, Shapes, by_queue, by_type, histogram
from leaseforge_console.views.overview import Range
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.trends import RANGES, SHAPES_S, THROUGHPUT, TROUBLE, per_second

MOST_QUEUES = 20
"""Queues whose types are read for one page: the busiest."""
_MOST_ROWS = 50
_MOST_NAMES = 200
ORDERS = ("busiest", "slowest", "failing")
_KEYS: dict[str, Callable[[Figures], tuple[float, ...]]] = {
    "busiest": lambda row: (-(row.completed + row.failed),),
    "slowest": lambda row: (-(row.run.p95 or 0), -(row.wait.p95 or 0)),
    "failing": lambda row: (-(row.failing or 0), -row.failed),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: how long a time, of one queue or ('') of all, types in which order."""

    seconds: int
    queue: str
    order: str

    def path(self, **changes: str | int) -> str:
        """The page's address, with some of it changed."""
        values = {"seconds": self.seconds, "queue": self.queue, "order": self.order} | changes
        return f"/metrics?{urlencode({name: value for name, value in values.items() if value != ''})}"


@dataclass(frozen=True, slots=True)
class Table:
    """Figures in order; `more` is how many there are besides those shown."""

    rows: tuple[Figures, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Metrics:
    """The page. Charts are None where nothing was counted; `shapes_for` says which time and queues figures are of."""

    asked: Asked
    summary: str
    ranges: tuple[Range, ...]
    orders: tuple[Range, ...]
    names: tuple[str, ...]
    throughput: Chart | None
    trouble: Chart | None
    histogram: Histogram | None
    types: Table
    queues: Table
    shapes_for: str


def chosen(seconds: int, queue: str, order: str) -> Asked:
    """One of the ranges and orders on offer; anything else shows the first."""
    ranges = [each for each, _ in RANGES]
    return Asked(seconds if seconds in ranges else ranges[0], queue.strip(), order if order in ORDERS else ORDERS[0])


def queues_read(asked: Asked, snapshot: Snapshot) -> tuple[str, ...]:
    """The queues whose types are read: the one asked for, else the busiest ones."""
    return (asked.queue,) if asked.queue else busiest(snapshot)


def busiest(snapshot: Snapshot) -> tuple[str, ...]:
    """The queues through which most went so far."""
    ordered = sorted(
        snapshot.queues, key=lambda queue: -(queue.totals.get("completed", 0) + queue.totals.get("failed", 0))
    )
    return tuple(queue.name for queue in ordered[:MOST_QUEUES])


def build(asked: Asked, throughput: Throughput, shapes: Shapes, snapshot: Snapshot) -> Metrics:
    """From one throughput and the shapes of some queues."""
    return Metrics(
        asked=asked,
        summary=f"queue {asked.queue}" if asked.queue else f"all {plural(len(snapshot.queues), 'queue')} together",
        ranges=tuple(Range(label, asked.path(seconds=s), s == asked.seconds) for s, label in RANGES),
        orders=tuple(Range(each, asked.path(order=each), each == asked.order) for each in ORDERS),
        names=tuple(queue.name for queue in snapshot.queues[:_MOST_NAMES]),
        throughput=per_second("Jobs per second", THROUGHPUT, throughput, snapshot),
        trouble=per_second("Failures per second", TROUBLE, throughput, snapshot),
        histogram=histogram(shapes),
        types=_table(by_type(shapes), asked),
        queues=_table(by_queue(shapes), asked),
        shapes_for=_shapes_for(asked, len(shapes), len(snapshot.queues)),
    )


def _table(rows: Sequence[Figures], asked: Asked) -> Table:
    ordered = sorted(rows, key=_KEYS[asked.order])
    return Table(tuple(ordered[:_MOST_ROWS]), max(len(ordered) - _MOST_ROWS, 0))


def _shapes_for(asked: Asked, read: int, queues: int) -> str:
    seconds = min(asked.seconds, SHAPES_S)
    time = next(label for each, label in RANGES if each == seconds)
    text = f"about the last {time}" + (", the longest kept by type" if seconds < asked.seconds else "")
    return text + (f", of the {read} busiest queues" if not asked.queue and read < queues else "")
