"""What a process counts of its own work, in plain numbers, and how it looks to Prometheus.

The hot path adds to numbers; everything else happens when somebody scrapes. Labels are bounded: what is not known, or
is one too many, is counted as `other`, so that names chosen by callers never become series.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

from leaseforge.pulse import Pulse

__all__ = [
    "CALL_BOUNDS_S",
    "CONTENT_TYPE",
    "MOST_SERIES",
    "OTHER",
    "REQUEST_BOUNDS_S",
    "RUN_BOUNDS_S",
    "WAIT_BOUNDS_S",
    "Durations",
    "DurationsBy",
    "counter",
    "gauge",
    "histogram",
    "page",
    "process_families",
]

OTHER = "other"
MOST_SERIES = 100
"""Values of one label that are told apart."""

CALL_BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
REQUEST_BOUNDS_S = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
RUN_BOUNDS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
WAIT_BOUNDS_S = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)


class Durations:
    """A histogram in plain numbers."""

    __slots__ = ("bounds_s", "counts", "total_s")

    def __init__(self, bounds_s: Sequence[float]) -> None:
        self.bounds_s = bounds_s
        self.counts = [0] * (len(bounds_s) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """Counts one duration."""
        self.counts[bisect_left(self.bounds_s, seconds)] += 1
        self.total_s += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound, as Prometheus wants them."""
        running, buckets = 0, []
        for bound, count in zip((*map(str, self.bounds_s), "+Inf"), self.counts, strict=True):
            running += count
            buckets.append((bound, float(running)))
        return buckets


class DurationsBy:
    """Histograms by the value of one label. With `known`, any other value is `other`, and so is one too many."""

    def __init__(
        self, bounds_s: Sequence[float], *, known: Collection[str] | None = None, most: int = MOST_SERIES
    ) -> None:
        self.series: dict[str, Durations] = {}
        self._bounds_s = bounds_s
        self._known = known
        self._most = most

    def add(self, value: str, seconds: float) -> None:
        """Counts one duration of this value."""
        durations = self.series.get(value)
        if durations is None:
            durations = self._first(value)
        durations.add(seconds)

    def _first(self, value: str) -> Durations:
        is_told_apart = self._known is None or value in self._known
        if not is_told_apart or len(self.series.keys() - {OTHER}) >= self._most:
            value = OTHER
        return self.series.setdefault(value, Durations(self._bounds_s))


def gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    """A gauge without labels."""
    return GaugeMetricFamily(name, text, value=value)


def counter(name: str, text: str, value: float) -> CounterMetricFamily:
    """A counter without labels; `_total` is put behind its name."""
    return CounterMetricFamily(name, text, value=value)


def histogram(
    name: str, text: str, labels: Sequence[str], series: Mapping[tuple[str, ...], Durations]
) -> HistogramMetricFamily:
    """A histogram for each combination of label values."""
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, durations in list(series.items()):
        family.add_metric(values, durations.buckets(), durations.total_s)
    return family


def process_families(pulse: Pulse) -> Iterator[Metric]:
    """What every process tells of itself: its version, its loops, and what the system knows of it."""
    build = GaugeMetricFamily("leaseforge_build_info", "1, with the release this process runs", labels=["version"])
    build.add_metric([version("leaseforge")], 1)
    yield build
    ages = GaugeMetricFamily("leaseforge_loop_age_seconds", "Time since a loop's last sign of life", labels=["loop"])
    for loop, age in pulse.ages_s().items():
        ages.add_metric([loop], age)
    yield ages
    crashes = CounterMetricFamily(
        "leaseforge_loop_crashes", "Times a loop crashed and was started again", labels=["loop"]
    )
    sums: dict[str, int] = {}
    for name, count in list(pulse.crashes.items()):
        kind = name.partition(":")[0]  # there is one exchange a queue
        sums[kind] = sums.get(kind, 0) + count
    for kind, count in sums.items():
        crashes.add_metric([kind], count)
    yield crashes
    yield from ProcessCollector(registry=None).collect()


def page(families: Iterable[Metric]) -> bytes:
    """The families in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(list(families)))
    return generate_latest(registry)


class _Once:
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
