"""The server itself, and everything together."""

import platform
import time

from litestar import Router, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from leaseforge import reads
from leaseforge.jobs import JobState
from leaseforge.store import Store
from leaseforge.workers import WorkerState
from leaseforge_api.findings import findings, redis_health
from leaseforge_api.schemas.system import Stats, SystemHealth, Version
from leaseforge_api.settings import ServerSettings
from leaseforge_api.version import VERSION
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission

_MAX_FINDINGS = 100


@get("/version", summary="Show the version", sync_to_thread=False, **permission(Permission.SYSTEM_READ))
def version(server_settings: NamedDependency[SkipValidation[ServerSettings]]) -> Version:
    """What runs here."""
    return Version(VERSION, platform.python_version(), server_settings.http.environment)


@get("/stats", summary="Show statistics", **permission(Permission.SYSTEM_READ))
async def stats(store: NamedDependency[Store]) -> Stats:
    """All queues and workers added up."""
    infos = await store.run(reads.readable(reads.queues(), []))
    counts: dict[str, int] = {}
    for info in infos:
        for state, count in info.counts.items():
            counts[state] = counts.get(state, 0) + count
    workers = await store.run(reads.readable(reads.all_workers(), []))
    live = [one for one in workers if one.state is not WorkerState.LOST]
    totals = dict(reads.totals(infos))
    return Stats(
        enqueued=totals.get("enqueued", 0),
        processing=counts.get(JobState.RUNNING, 0),
        delayed=counts.get(JobState.SCHEDULED, 0) + counts.get(JobState.RETRYING, 0),
        completed=totals.get("completed", 0),
        dead=counts.get(JobState.DEAD, 0),
        queues=len(infos),
        paused_queues=sum(info.paused for info in infos),
        counts=counts,
        totals=totals,
        workers=len(live),
        slots=sum(one.slots for one in live),
    )


@get("/health", summary="Show system health", **permission(Permission.SYSTEM_READ))
async def health(store: NamedDependency[Store]) -> SystemHealth:
    """How Redis is, and what an operator should look at. 503 without Redis; without login see `/health`."""
    started = time.perf_counter()
    await store.ping()
    latency_ms = round((time.perf_counter() - started) * 1000, 2)
    redis = redis_health(await store.info(), latency_ms=latency_ms)
    queues = await store.run(reads.readable(reads.queues(), []))
    workers = await store.run(reads.readable(reads.all_workers(), []))
    found = list(findings(redis, queues, workers, await store.run(reads.foreign_keys())))
    return SystemHealth("degraded" if found else "ok", redis, found[:_MAX_FINDINGS], len(found))


router = Router("/system", route_handlers=[version, stats, health], tags=["system"])
