"""Line charts as plain geometry. The template draws them; a browser only stretches the box, never the text.

Horizontal places are percentages of the plot and indexes of its points, vertical ones pixels of a plot of fixed
height, so that one drawing fits every width.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from leaseforge_console.filters import clock, rate

PLOT_HEIGHT = 168
"""Pixels from the top line of the plot to its base."""
_TOP = 8
_STEPS = (1.0, 2.0, 5.0, 10.0)
_DAY_MINUTES = 1440
_TICK_MINUTES = (1, 2, 3, 5, 10, 15, 30, 60, 180, 360, 720, _DAY_MINUTES, 2 * _DAY_MINUTES)
_MAX_TICKS = 6


@dataclass(frozen=True, slots=True)
class Line:
    """One series: its word (also its class), SVG path data, the value of its last point, its peak."""

    name: str
    path: str
    area: str
    latest: str
    peak: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled grid line: `y` in pixels."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A label under the plot: `x` in percent; a `minor` one is dropped where there is little room."""

    x: float
    label: str
    anchor: str
    minor: bool


@dataclass(frozen=True, slots=True)
class Slot:
    """One moment of the chart: what a pointer over it, the table and a screen reader tell."""

    time: str
    values: tuple[str, ...]
    tip: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything the chart partial draws. `width` is the number of points: the unit of the plot's x axis."""

    label: str
    unit: str
    width: int
    height: int
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    slots: tuple[Slot, ...]


def line_chart(
    label: str, series: Iterable[tuple[str, Sequence[float]]], times: Sequence[datetime], *, unit: str = "per second"
) -> Chart | None:
    """Draws series of equal length over `times` (ascending, evenly apart); None when there is nothing to draw."""
    named = [(name, list(values)) for name, values in series]
    if len(times) < 2 or not named:
        return None
    top, step = scale(max(max(values) for _, values in named))
    place = [[_y(value, top) for value in values] for _, values in named]
    lines = tuple(
        Line(name, path := _path(points), _area(path, len(times)), rate(values[-1]), rate(max(values)))
        for (name, values), points in zip(named, place, strict=True)
    )
    marks = tuple(Mark(_y(step * i, top), _mark(step * i)) for i in range(round(top / step) + 1))
    return Chart(
        label=f"{label}, {_moment(times[0], times)} to {_moment(times[-1], times)} UTC: "
        + ", ".join(f"{line.name} now {line.latest}, at most {line.peak} {unit}" for line in lines),
        unit=unit,
        width=len(times),
        height=PLOT_HEIGHT,
        lines=lines,
        marks=marks,
        ticks=_ticks(times),
        slots=tuple(_slots(named, times, unit)),
    )


def _slots(named: list[tuple[str, list[float]]], times: Sequence[datetime], unit: str) -> Iterable[Slot]:
    for index, at in enumerate(times):
        time = f"{_moment(at, times, seconds=True)} UTC"
        values = tuple(rate(values[index]) for _, values in named)
        told = "\n".join(f"{name} {value}" for (name, _), value in zip(named, values, strict=True))
        yield Slot(time, values, f"{time}, {unit}\n{told}")


def _moment(at: datetime, times: Sequence[datetime], *, seconds: bool = False) -> str:
    """The time of day, and the day where the chart shows more than one."""
    if times[-1] - times[0] > timedelta(hours=12):
        return f"{at.day} {at:%b %H:%M}"
    return clock(at)[: 8 if seconds else 5]


def scale(peak: float) -> tuple[float, float]:
    """The top of the axis and the distance of its lines: at most five, at round values."""
    if peak <= 0:
        return 1.0, 0.5
    unit = 0.001
    while True:
        for factor in _STEPS:
            if factor * unit * 4 >= peak:
                step = factor * unit
                lines = max(2, -(-peak // step))
                return step * lines, step
        unit *= 10


def _mark(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3f}".rstrip("0").rstrip(".")


def _y(value: float, top: float) -> float:
    return round(_TOP + (PLOT_HEIGHT - _TOP) * (1 - value / top), 1)


def _path(points: Sequence[float]) -> str:
    return "M" + " L".join(f"{index + 0.5:g} {y:g}" for index, y in enumerate(points))


def _area(path: str, count: int) -> str:
    return f"{path} L{count - 0.5:g} {PLOT_HEIGHT} L0.5 {PLOT_HEIGHT} Z"


def _ticks(times: Sequence[datetime]) -> tuple[Tick, ...]:
    """Labels at full minutes of the clock, or at midnights of UTC, at most six."""
    first, last = times[0], times[-1]
    length = (last - first).total_seconds()
    minutes = next((m for m in _TICK_MINUTES if length / (m * 60) < _MAX_TICKS), _TICK_MINUTES[-1])
    at = first.replace(second=0, microsecond=0)
    at -= timedelta(minutes=(at.hour * 60 + at.minute) % min(minutes, _DAY_MINUTES))
    ticks: list[Tick] = []
    while at <= last:
        x = (at - first).total_seconds() / length * 100 if length else 0
        if x >= 0:
            anchor = "start" if x < 4 else "end" if x > 96 else "middle"
            label = f"{at.day} {at:%b}" if minutes >= _DAY_MINUTES else f"{at:%H:%M}"
            ticks.append(Tick(round(x, 2), label, anchor, len(ticks) % 2 == 1))
        at += timedelta(minutes=minutes)
    return tuple(ticks)
