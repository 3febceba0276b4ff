"""What this process counts of its own work, and how it looks to Prometheus.

The hot path adds to plain numbers; everything else happens when somebody scrapes. Figures of the
whole system come from Redis through the server: several workers would count them twice.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

BOUNDS_S = (0.001, 0.005, 0.02, 0.1, 0.5, 2.5, 10.0, 60.0, 600.0)


class Durations:
    """A histogram in plain numbers."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """Counts one duration."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.total_s += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound, as Prometheus wants them."""
        running, buckets = 0, []
        for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), self.counts, strict=True):
            running += count
            buckets.append((bound, float(running)))
        return buckets


@dataclass(slots=True)
class Meters:
    """Everything counted since the process started. Written by one thread each, read by any."""

    types: frozenset[str] = frozenset()
    """The tasks there are: durations of any other type would be a series without bound."""
    handlers: dict[str, Durations] = field(default_factory=dict)
    calls: dict[str, Durations] = field(default_factory=dict)
    claimed: int = 0
    settled: dict[str, int] = field(default_factory=dict)
    fenced: int = 0
    """Settlements and renewals that were refused because another claim has the job."""
    given_back: int = 0
    longest_gap_s: float = 0.0

    def ran(self, type: str, seconds: float) -> None:
        """A handler of this type ended after so long."""
        durations = self.handlers.get(type)
        if durations is None:
            durations = self.handlers.setdefault(type if type in self.types else "unknown", Durations())
        durations.add(seconds)

    def called(self, name: str, seconds: float) -> None:
        """A call to Redis took so long."""
        durations = self.calls.get(name)
        if durations is None:
            durations = self.calls.setdefault(name, Durations())
        durations.add(seconds)

    def ended(self, state: str) -> None:
        """A settlement was accepted and led to this state."""
        self.settled[state] = self.settled.get(state, 0) + 1


@dataclass(frozen=True, slots=True)
class Gauges:
    """How a worker stands at one moment."""

    slots: int
    running: int
    buffered: int
    held: int
    abandoned: int
    children: int
    degraded: bool
    loop_ages_s: dict[str, float]
    loop_crashes: dict[str, int]


class Exposition:
    """Writes a worker's figures in Prometheus' text format."""

    def __init__(self, meters: Meters, gauges: Callable[[], Gauges]) -> None:
        self._meters = meters
        self._gauges = gauges
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """The page for a scrape."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """All metric families, read now."""
        yield from self._now(self._gauges())
        yield from self._since_start(self._meters)

    def _now(self, now: Gauges) -> Iterator[Metric]:
        yield _gauge("leaseforge_worker_slots", "Jobs this worker can run at once", now.slots)
        yield _gauge("leaseforge_active_workers", "Slots that run a job now", now.running)
        yield _gauge("leaseforge_worker_buffered_jobs", "Jobs claimed ahead that wait for a slot", now.buffered)
        yield _gauge("leaseforge_worker_held_jobs", "Leases this worker holds", now.held)
        yield _gauge("leaseforge_worker_abandoned_attempts", "Attempts given up that still go on", now.abandoned)
        yield _gauge("leaseforge_worker_child_processes", "Processes there are for isolated tasks", now.children)
        yield _gauge("leaseforge_worker_degraded", "1 while Redis cannot be reached", int(now.degraded))
        ages = GaugeMetricFamily(
            "leaseforge_worker_loop_age_seconds", "Time since a loop's last sign of life", labels=["loop"]
        )
        for loop, age in now.loop_ages_s.items():
            ages.add_metric([loop], age)
        yield ages
        crashes = CounterMetricFamily("leaseforge_worker_loop_crashes", "Loops started again", labels=["loop"])
        for loop, count in now.loop_crashes.items():
            crashes.add_metric([loop], count)
        yield crashes

    def _since_start(self, meters: Meters) -> Iterator[Metric]:
        yield _counter("leaseforge_worker_claimed_jobs", "Jobs claimed by this process", meters.claimed)
        yield _counter("leaseforge_worker_fenced", "Writes refused because another claim has the job", meters.fenced)
        yield _counter("leaseforge_worker_given_back_jobs", "Jobs claimed ahead and given back", meters.given_back)
        yield _gauge("leaseforge_worker_longest_renewal_gap_seconds", "Since the start", meters.longest_gap_s)
        settled = CounterMetricFamily(
            "leaseforge_worker_settled_jobs", "Accepted settlements by the state they led to", labels=["state"]
        )
        for state, count in list(meters.settled.items()):
            settled.add_metric([state], count)
        yield settled
        yield _histogram("leaseforge_handler_duration_seconds", "Run time of handlers", "type", meters.handlers)
        yield _histogram("leaseforge_worker_call_duration_seconds", "Calls to Redis", "call", meters.calls)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _counter(name: str, text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, text, value=value)


def _histogram(name: str, text: str, label: str, series: dict[str, Durations]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, text, labels=[label])
    for value, durations in list(series.items()):
        family.add_metric([value], durations.buckets(), durations.total_s)
    return family
