"""Series of counts as charts of jobs per second."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby

from leaseforge.statistics import Point, Step, Throughput, step_for
from leaseforge_console.charts import Chart, line_chart
from leaseforge_console.views.snapshot import Snapshot

RANGES = ((900, "15 min"), (3600, "1 h"), (86_400, "24 h"), (604_800, "7 d"))
"""Seconds a chart may show, and their names."""
SHAPES_S = 86_400
"""Types are told apart over a day at most."""
_MOST_POINTS = 90
_FINE_S = 3600

THROUGHPUT = ("completed", "enqueued", "failed")
TROUBLE = ("failed", "retried", "dead", "recovered", "fenced")


def step_of(seconds: int) -> Step:
    """How fine a chart of so many seconds is read: an hour in steps of 10 s, so that its end is not minutes old."""
    return Step.TEN_SECONDS if seconds <= _FINE_S else step_for(seconds)


def per_second(label: str, names: Iterable[str], throughput: Throughput, snapshot: Snapshot) -> Chart | None:
    """The named counts as jobs per second; the step that has not ended yet is left out, it would look like a drop.

    A long time is drawn in longer steps, cut at the same instants whenever it is looked at.
    """
    together = max(1, -(-len(throughput.points) // _MOST_POINTS))
    step_s = throughput.step_s * together
    ended = [point for point in throughput.points if point.at + timedelta(seconds=throughput.step_s) <= snapshot.now]
    groups = [list(group) for _, group in groupby(ended, key=lambda point: point.at.timestamp() // step_s)]
    whole = [group for group in groups if len(group) == together]

    def rates(name: str) -> list[float]:
        return [sum(_count(point, name) for point in group) / step_s for group in whole]

    return line_chart(label, [(name, rates(name)) for name in names], [group[0].at for group in whole])


def _count(point: Point, name: str) -> int:
    count: int = getattr(point, name)
    return count
