"""What this process counts of its own work, and how it looks to Prometheus.

Figures of the whole installation come from Redis through the server: several workers would count them twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, Metric

from leaseforge.meters import (
    CALL_BOUNDS_S,
    RUN_BOUNDS_S,
    WAIT_BOUNDS_S,
    Durations,
    DurationsBy,
    counter,
    gauge,
    histogram,
    page,
    process_families,
)
from leaseforge.pulse import Pulse

CALLS = {
    "claim": "Trips to Redis that asked for jobs; one that settled as well counts in both",
    "ack": "Trips to Redis that settled attempts; one that asked for jobs as well counts in both",
    "heartbeat": "Trips to Redis that renewed leases",
    "sweep": "Trips to Redis that took back expired leases and made due jobs ready",
    "forward": "Trips to Redis that carried follow-up jobs to other queues",
    "words": "Trips to Redis that carried progress and log lines of handlers",
}


@dataclass(slots=True)
class Meters:
    """Everything counted since the process started. Written by one thread each, read by any."""

    types: frozenset[str] = frozenset()
    """The tasks there are: durations of any other type would be a series without bound."""
    handlers: DurationsBy = field(init=False)
    waits: DurationsBy = field(default_factory=lambda: DurationsBy(WAIT_BOUNDS_S))
    """From being ready to the start of the handler, by queue; Redis' clock begins it, this machine's ends it."""
    calls: dict[str, Durations] = field(default_factory=dict)
    claimed: int = 0
    settled: dict[str, int] = field(default_factory=dict)
    fenced: int = 0
    """Settlements and renewals that were refused because another claim has the job."""
    given_back: int = 0
    longest_gap_s: float = 0.0

    def __post_init__(self) -> None:
        self.handlers = DurationsBy(RUN_BOUNDS_S, known=self.types)

    def ran(self, type: str, seconds: float) -> None:
        """A handler of this type ended after so long."""
        self.handlers.add(type, seconds)

    def waited(self, queue: str, seconds: float) -> None:
        """A job of this queue was ready for so long before its handler began."""
        self.waits.add(queue, seconds if seconds > 0 else 0.0)

    def called(self, name: str, seconds: float) -> None:
        """A call to Redis took so long; the names are those of CALLS."""
        durations = self.calls.get(name)
        if durations is None:
            durations = self.calls.setdefault(name, Durations(CALL_BOUNDS_S))
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
    lease_s: float


class Exposition:
    """Writes a worker's figures in Prometheus' text format."""

    def __init__(self, meters: Meters, pulse: Pulse, gauges: Callable[[], Gauges]) -> None:
        self._meters = meters
        self._pulse = pulse
        self._gauges = gauges

    def text(self) -> bytes:
        """The page for a scrape."""
        return page(self.collect())

    def collect(self) -> Iterator[Metric]:
        """All metric families, read now."""
        yield from process_families(self._pulse)
        yield from _now(self._gauges())
        yield from _since_start(self._meters)


def _now(now: Gauges) -> Iterator[Metric]:
    yield gauge("leaseforge_worker_slots", "Jobs this process can run at once", now.slots)
    yield gauge("leaseforge_active_workers", "Slots of this process that run a job now", now.running)
    yield gauge("leaseforge_worker_buffered_jobs", "Jobs claimed ahead that wait for a slot", now.buffered)
    yield gauge("leaseforge_worker_held_jobs", "Leases this process holds", now.held)
    yield gauge("leaseforge_worker_abandoned_attempts", "Attempts given up that still go on", now.abandoned)
    yield gauge("leaseforge_worker_child_processes", "Processes there are for isolated tasks", now.children)
    yield gauge("leaseforge_worker_degraded", "1 while Redis cannot be reached", int(now.degraded))
    yield gauge("leaseforge_worker_lease_seconds", "How long a lease of this process lasts", now.lease_s)


def _since_start(meters: Meters) -> Iterator[Metric]:
    yield counter("leaseforge_worker_claimed_jobs", "Jobs claimed by this process", meters.claimed)
    yield counter(
        "leaseforge_worker_fenced_writes", "Writes of this process refused: it had lost the lease", meters.fenced
    )
    yield counter("leaseforge_worker_given_back_jobs", "Jobs claimed ahead and given back", meters.given_back)
    gap = "The longest time a lease of this process went unconfirmed, since its start"
    yield gauge("leaseforge_worker_longest_renewal_gap_seconds", gap, meters.longest_gap_s)
    settled = CounterMetricFamily(
        "leaseforge_worker_settled_jobs",
        "Accepted settlements of this process by the state they led to",
        labels=["state"],
    )
    for state, count in list(meters.settled.items()):
        settled.add_metric([state], count)
    yield settled
    yield histogram(
        "leaseforge_task_duration_seconds", "Run time of handlers", ["type"], _by_one_label(meters.handlers)
    )
    yield histogram(
        "leaseforge_task_wait_seconds", "From ready to the start of the handler", ["queue"], _by_one_label(meters.waits)
    )
    for name, text in CALLS.items():
        taken: dict[tuple[str, ...], Durations] = {(): meters.calls.get(name) or Durations(CALL_BOUNDS_S)}
        yield histogram(f"leaseforge_redis_{name}_seconds", text, [], taken)


def _by_one_label(durations: DurationsBy) -> dict[tuple[str, ...], Durations]:
    return {(value,): one for value, one in list(durations.series.items())}
