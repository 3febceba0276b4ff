"""What an operator should look at, found in what is known anyway."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leaseforge.jobs import JobState
from leaseforge.queues import QueueInfo
from leaseforge.workers import WorkerInfo, WorkerState
from leaseforge_api.schemas.system import Finding, RedisHealth

MEMORY_HIGH = 0.9
_MOST_KEYS = 10


def redis_health(info: Mapping[str, Any], *, latency_ms: float) -> RedisHealth:
    """What INFO says that matters here; a server that leaves something out is taken to be well."""
    return RedisHealth(
        version=str(info.get("redis_version", "unknown")),
        latency_ms=latency_ms,
        memory_bytes=_whole(info.get("used_memory")),
        memory_limit_bytes=_whole(info.get("maxmemory")) or None,
        clients=_whole(info.get("connected_clients")),
        appendonly=str(info.get("aof_enabled", "1")) != "0",
    )


def findings(
    redis: RedisHealth, queues: Sequence[QueueInfo], workers: Sequence[WorkerInfo], foreign_keys: Sequence[str] = ()
) -> Iterator[Finding]:
    """Everything that is not as it should be, the most general first. `foreign_keys` are those of no queue."""
    limit = redis.memory_limit_bytes
    if not redis.appendonly:
        yield Finding("appendonly_off", "jobs accepted since the last snapshot are lost if Redis restarts")
    if limit and redis.memory_bytes > MEMORY_HIGH * limit:
        used = redis.memory_bytes / limit
        yield Finding("memory_high", f"Redis has used {used:.0%} of its memory: at 100% no job is taken in any more")
    if foreign_keys:
        yield Finding("foreign_keys", f"something else stands in the place of {_listed(foreign_keys)}")
    for worker in workers:
        if worker.state is WorkerState.LOST:
            yield Finding("worker_lost", "its reports stopped; its jobs are taken back", worker=worker.id)
    served = {name for one in workers if one.state is WorkerState.RUNNING for name in one.queues}
    for queue in queues:
        if queue.foreign_keys:
            text = f"something else stands in the place of {_listed(queue.foreign_keys)}"
            yield Finding("foreign_keys", text, queue=queue.name)
        waiting = queue.counts[JobState.READY]
        if waiting and queue.paused:
            yield Finding("paused_with_jobs", f"{waiting:,} jobs wait, and it is paused", queue=queue.name)
        elif waiting and queue.name not in served:
            yield Finding("no_worker", f"{waiting:,} jobs wait, and no worker takes any", queue=queue.name)


def _listed(keys: Sequence[str]) -> str:
    rest = len(keys) - _MOST_KEYS
    return ", ".join(keys[:_MOST_KEYS]) + (f" and {rest} more" if rest > 0 else "")


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
