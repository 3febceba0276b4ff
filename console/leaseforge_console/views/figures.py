"""How job types and queues did over a span of time: counts, and how long jobs waited and ran."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from leaseforge.statistics import CLASSES, TypeShape, added_up, quantile
from leaseforge_console.charts import PLOT_HEIGHT, Mark, Slot, Tick, scale
from leaseforge_console.filters import number, plural, span

Shapes = Mapping[str, Sequence[TypeShape]]
"""What each queue counted, by its name."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that 50, 95 and 99 of 100 stayed under, as far as classes of doubling length tell; None without any."""

    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """One type or one queue. `failing` is the share of attempts that failed, 0 to 1, None if nothing ended."""

    name: str
    completed: int
    failed: int
    dead: int
    failing: float | None
    wait: Times
    run: Times


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a histogram: its series (also its class), its place and size; x in slots, y in pixels."""

    name: str
    x: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many jobs waited and ran how long. Slots are 16 classes of doubling length, labels stand at some bounds."""

    label: str
    width: int
    height: int
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    slots: tuple[Slot, ...]


def by_type(shapes: Shapes) -> list[Figures]:
    """All queues' types together, by type name."""
    return [_figures(shape.type, [shape]) for shape in added_up(shapes.values())]


def by_queue(shapes: Shapes) -> list[Figures]:
    """Each queue that counted anything, all its types together."""
    return [_figures(name, found) for name, found in sorted(shapes.items()) if found]


def _figures(name: str, shapes: Sequence[TypeShape]) -> Figures:
    completed, failed = (sum(getattr(shape, each) for shape in shapes) for each in ("completed", "failed"))
    return Figures(
        name=name,
        completed=completed,
        failed=failed,
        dead=sum(shape.dead for shape in shapes),
        failing=failed / (completed + failed) if completed + failed else None,
        wait=_times(together(shape.wait for shape in shapes)),
        run=_times(together(shape.run for shape in shapes)),
    )


def together(rows: Iterable[Sequence[int]]) -> list[int]:
    """Classes added up."""
    sums = [0] * CLASSES
    for row in rows:
        for index, size in enumerate(row):
            sums[index] += size
    return sums


def _times(classes: Sequence[int]) -> Times:
    p50, p95, p99 = (
        None if (ms := quantile(classes, fraction)) is None else ms / 1000 for fraction in (0.5, 0.95, 0.99)
    )
    return Times(p50, p95, p99)


def histogram(shapes: Shapes) -> Histogram | None:
    """How long jobs waited and ran; None if none did."""
    found = [shape for part in shapes.values() for shape in part]
    wait, run = (together(getattr(shape, each) for shape in found) for each in ("wait", "run"))
    peak = max(*wait, *run)
    if not peak:
        return None
    top, step = scale(peak)

    def bar(name: str, x: float, size: int) -> Bar:
        # What is there can be seen, however little it is.
        height = max(round(size / top * (PLOT_HEIGHT - 8), 1), 2.0)
        return Bar(name, x, PLOT_HEIGHT - height, height)

    bars = [
        bar(name, index + offset, classes[index])
        for name, classes, offset in (("wait", wait, 0.1), ("run", run, 0.52))
        for index in range(CLASSES)
        if classes[index]
    ]
    slots = tuple(
        Slot(
            _bounds(index),
            (number(wait[index]), number(run[index])),
            f"{_bounds(index)}\n{plural(wait[index], 'job')} waited\n{plural(run[index], 'attempt')} ran",
        )
        for index in range(CLASSES)
    )
    return Histogram(
        label=f"Jobs by how long they waited and ran: {plural(sum(wait), 'job')} waited, most {_most(wait)}; "
        f"{plural(sum(run), 'attempt')} ran, most {_most(run)}",
        width=CLASSES,
        height=PLOT_HEIGHT,
        bars=tuple(bars),
        marks=tuple(
            Mark(round(PLOT_HEIGHT - step * each / top * (PLOT_HEIGHT - 8), 1), number(step * each))
            for each in range(round(top / step) + 1)
        ),
        ticks=tuple(
            Tick(index / CLASSES * 100, _bound(index - 1), "middle", minor=False) for index in (2, 5, 8, 11, 14)
        ),
        slots=slots,
    )


def _bound(index: int) -> str:
    return span(2**index / 1000)


def _bounds(index: int) -> str:
    """The class in words. Class c holds less than 2^c ms, the last one everything longer."""
    if index == 0:
        return "under 1 ms"
    return f"over {_bound(CLASSES - 2)}" if index == CLASSES - 1 else f"{_bound(index - 1)} to {_bound(index)}"


def _most(classes: Sequence[int]) -> str:
    return _bounds(max(range(CLASSES), key=lambda index: classes[index]))
