"""Figures of the whole installation. They stand in Redis, so every server shows the same: take one, or the maximum."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from leaseforge import reads
from leaseforge.errors import QueueNotFound, ScriptFault, StoreError
from leaseforge.jobs import JobState
from leaseforge.queues import QueueInfo
from leaseforge.store import Store
from leaseforge.workers import WorkerInfo, WorkerState

TOTALS = {
    "enqueued": ("leaseforge_tasks_enqueued", "Jobs accepted"),
    "completed": ("leaseforge_tasks_processed", "Jobs that completed"),
    "failed": ("leaseforge_tasks_failed", "Attempts that failed or timed out"),
    "crashed": ("leaseforge_tasks_crashed", "Attempts whose child process died"),
    "retried": ("leaseforge_tasks_retried", "Failed attempts that are tried again"),
    "dead": ("leaseforge_tasks_dead_lettered", "Jobs that went to the dead letters"),
    "cancelled": ("leaseforge_tasks_cancelled", "Jobs that were cancelled"),
    "replayed": ("leaseforge_tasks_replayed", "Dead jobs that were put back"),
    "recovered": ("leaseforge_lease_losses", "Leases that ran out: their jobs were taken back"),
    "fenced": ("leaseforge_fenced_writes", "Writes refused because another claim has the job"),
}
"""By the counter's name in Redis: the family, and what it counts."""
DEPTHS = {
    JobState.READY: ("leaseforge_queue_ready", "Jobs that can be claimed now"),
    JobState.RUNNING: ("leaseforge_queue_inflight", "Jobs under a lease"),
    JobState.SCHEDULED: ("leaseforge_queue_scheduled", "Jobs that wait for their first due time"),
    JobState.RETRYING: ("leaseforge_queue_retrying", "Jobs that wait for another attempt"),
    JobState.COMPLETED: ("leaseforge_queue_completed", "Completed jobs that are still kept"),
    JobState.CANCELLED: ("leaseforge_queue_cancelled", "Cancelled jobs that are still kept"),
    JobState.DEAD: ("leaseforge_queue_dead", "Dead letters"),
}


async def read_installation(store: Store) -> list[Metric]:
    """All families that can be read; what cannot is left out, never shown as 0. Raises StoreUnavailable.

    Queues are those Redis knows, 1,000 at most.
    """
    await store.ping()
    families: list[Metric] = []
    infos: list[QueueInfo] = []
    with suppress(ScriptFault):
        infos = await _queues(store)
        families += queue_families(infos)
    with suppress(ScriptFault):
        workers = await store.run(reads.all_workers())
        families += worker_families(workers)
        families.append(consumer_family(infos, workers))
    with suppress(StoreError):  # our Redis user may not be allowed to ask
        families += memory_families(await store.info())
    return families


async def _queues(store: Store) -> list[QueueInfo]:
    """All queues that can be read: one with keys of another program in the place of its own hides no other."""
    try:
        infos = await store.run(reads.queues())
    except ScriptFault:
        infos = []
        for name in await store.run(reads.queue_names()):
            with suppress(ScriptFault, QueueNotFound):
                infos.append(await store.run(reads.queue(name)))
    return [info for info in infos if not info.foreign_keys]


def queue_families(infos: Iterable[QueueInfo]) -> Iterator[Metric]:
    """Depths, ages and lifecycle counters."""
    depths = {state: GaugeMetricFamily(name, text, labels=["queue"]) for state, (name, text) in DEPTHS.items()}
    totals = {field: CounterMetricFamily(name, text, labels=["queue"]) for field, (name, text) in TOTALS.items()}
    paused = GaugeMetricFamily("leaseforge_queue_paused", "1 while a queue is paused", labels=["queue"])
    oldest = GaugeMetricFamily(
        "leaseforge_queue_oldest_ready_seconds",
        "How long the oldest ready job has waited; absent when none waits",
        labels=["queue"],
    )
    for info in infos:
        label = [info.name]
        for state, depth in depths.items():
            depth.add_metric(label, info.counts[state])
        for field, total in totals.items():
            total.add_metric(label, info.totals.get(field, 0))
        paused.add_metric(label, int(info.paused))
        if info.oldest_ready_s is not None:
            oldest.add_metric(label, info.oldest_ready_s)
    yield from (*totals.values(), *depths.values(), paused, oldest)


def worker_families(infos: Iterable[WorkerInfo]) -> Iterator[Metric]:
    """Workers by state, one that fell silent included for a while."""
    count = GaugeMetricFamily("leaseforge_workers", "Worker processes in a state", labels=["state"])
    slots = GaugeMetricFamily("leaseforge_slots", "Slots of workers in a state", labels=["state"])
    busy = GaugeMetricFamily("leaseforge_slots_busy", "Slots that run a job", labels=["state"])
    sums = dict.fromkeys(WorkerState, (0, 0, 0))
    for info in infos:
        workers, all_slots, running = sums[info.state]
        sums[info.state] = (workers + 1, all_slots + info.slots, running + info.running_count)
    for state, (workers, all_slots, running) in sums.items():
        count.add_metric([state], workers)
        slots.add_metric([state], all_slots)
        busy.add_metric([state], running)
    yield from (count, slots, busy)


def consumer_family(infos: Iterable[QueueInfo], workers: Iterable[WorkerInfo]) -> Metric:
    """For each queue, how many running workers serve it."""
    family = GaugeMetricFamily("leaseforge_queue_consumers", "Running workers that serve a queue", labels=["queue"])
    serving: dict[str, int] = {}
    for worker in workers:
        if worker.state is WorkerState.RUNNING:
            for queue in worker.queues:
                serving[queue] = serving.get(queue, 0) + 1
    for info in infos:
        family.add_metric([info.name], serving.get(info.name, 0))
    return family


def memory_families(info: Mapping[str, Any]) -> Iterator[Metric]:
    """Redis' memory; of a cluster, one primary's. The limit is absent where there is none."""
    used, limit = info.get("used_memory"), info.get("maxmemory")
    if isinstance(used, int):
        yield GaugeMetricFamily("leaseforge_redis_memory_used_bytes", "Memory Redis uses", value=used)
    if isinstance(limit, int) and limit > 0:
        yield GaugeMetricFamily("leaseforge_redis_memory_limit_bytes", "The most memory Redis may use", value=limit)
