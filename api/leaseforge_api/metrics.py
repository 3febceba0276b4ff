"""Prometheus metrics of the whole installation. They come from Redis, so several servers do not count twice."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from leaseforge import reads
from leaseforge.errors import ScriptFault
from leaseforge.queues import QueueInfo
from leaseforge.store import Store
from leaseforge.workers import WorkerInfo

__all__ = ["CONTENT_TYPE", "exposition"]

COUNTERS = {
    "enqueued": "Jobs accepted.",
    "completed": "Jobs completed.",
    "failed": "Attempts that failed or timed out.",
    "crashed": "Attempts whose child process died.",
    "retried": "Failed attempts that are tried again.",
    "dead": "Jobs that went to the dead letters.",
    "recovered": "Jobs taken back from a lease that ran out.",
    "fenced": "Writes refused because their lease was lost.",
}


async def exposition(store: Store) -> bytes:
    """The metrics as text. What cannot be read is left out, never shown as 0. Raises StoreUnavailable."""
    families: list[Metric] = []
    families += _queue_families(await _queues(store))
    with suppress(ScriptFault):
        families += _worker_families(await store.run(reads.all_workers()))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(families))
    return generate_latest(registry)


async def _queues(store: Store) -> list[QueueInfo]:
    """All queues that can be read: one with damaged keys does not hide the others."""
    return [info for info in await store.run(reads.queues()) if not info.foreign_keys]


def _queue_families(infos: Iterable[QueueInfo]) -> Iterator[Metric]:
    depth = GaugeMetricFamily("leaseforge_queue_jobs", "Jobs of a queue in a state.", labels=["queue", "state"])
    paused = GaugeMetricFamily("leaseforge_queue_paused", "1 while a queue is paused.", labels=["queue"])
    oldest = GaugeMetricFamily(
        "leaseforge_queue_oldest_ready_seconds", "How long the oldest ready job has waited.", labels=["queue"]
    )
    counters = {
        name: CounterMetricFamily(f"leaseforge_jobs_{name}", text, labels=["queue"]) for name, text in COUNTERS.items()
    }
    for info in infos:
        for state, count in info.counts.items():
            depth.add_metric([info.name, state], count)
        paused.add_metric([info.name], int(info.paused))
        if info.oldest_ready_s is not None:
            oldest.add_metric([info.name], info.oldest_ready_s)
        for name, counter in counters.items():
            counter.add_metric([info.name], info.totals.get(name, 0))
    yield from (depth, paused, oldest, *counters.values())


def _worker_families(infos: Iterable[WorkerInfo]) -> Iterator[Metric]:
    count = GaugeMetricFamily("leaseforge_workers", "Workers in a state.", labels=["state"])
    slots = GaugeMetricFamily("leaseforge_worker_slots", "Slots of workers in a state.", labels=["state"])
    busy = GaugeMetricFamily("leaseforge_worker_slots_busy", "Slots that run a job.", labels=["state"])
    sums: dict[str, tuple[int, int, int]] = {}
    for info in infos:
        workers, all_slots, running = sums.get(info.state, (0, 0, 0))
        sums[info.state] = (workers + 1, all_slots + info.slots, running + info.running_count)
    for state, (workers, all_slots, running) in sums.items():
        count.add_metric([state], workers)
        slots.add_metric([state], all_slots)
        busy.add_metric([state], running)
    yield from (count, slots, busy)


class _Once(Collector):
    """Hands metrics that were read before to the exposition."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """The metrics."""
        return self._families
