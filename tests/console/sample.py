"""Values as the engine reads them, for view models that are built without a server."""

from datetime import UTC, datetime, timedelta
from typing import Any

from leaseforge.jobs import Attempt, DeadGroup, Job, JobError, JobState, Options
from leaseforge.queues import QueueInfo
from leaseforge.statistics import Point, Throughput
from leaseforge.workers import ReportedJob, WorkerInfo, WorkerState
from leaseforge_console.views.overview import Reading
from leaseforge_console.views.signs import Signs
from leaseforge_console.views.snapshot import Snapshot

NOW = datetime(2026, 11, 29, 4, 0, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def queue(name: str = "default", *, paused: bool = False, oldest_s: float | None = None, **counts: Any) -> QueueInfo:
    return QueueInfo(
        name=name,
        paused=paused,
        counts={state: counts.get(state.value, 0) for state in JobState},
        oldest_ready_s=oldest_s,
        totals={},
        sequence=77,
        as_of_ms=int(NOW.timestamp() * 1000),
    )


def worker(
    *queues: str, state: WorkerState = WorkerState.RUNNING, running: tuple[ReportedJob, ...] = (), **fields: Any
) -> WorkerInfo:
    values: dict[str, Any] = {
        "id": "worker-7f9c",
        "host": "node-1",
        "pid": 17,
        "version": "0.1.0",
        "queues": queues or ("*",),
        "types": ("echo",),
        "slots": 16,
        "state": state,
        "rss_bytes": 50_000_000,
        "started_at": ago(3600),
        "last_seen_at": ago(1),
        "longest_renewal_gap_ms": 3300,
        "running_count": len(running),
        "running": running,
    }
    return WorkerInfo(**(values | fields))


def run(job_id: str, seconds: float, *, queue: str = "default") -> ReportedJob:
    return ReportedJob(job_id, queue, "echo", 1, round(ago(seconds).timestamp() * 1000))


def snapshot(*parts: QueueInfo | WorkerInfo) -> Snapshot:
    queues = [part for part in parts if isinstance(part, QueueInfo)] or [queue()]
    return Snapshot.of(queues, [part for part in parts if isinstance(part, WorkerInfo)])


def job(state: JobState = JobState.READY, **fields: Any) -> Job:
    values: dict[str, Any] = {
        "id": "8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11",
        "queue": "billing",
        "type": "charge_card",
        "state": state,
        "priority": 0,
        "attempts": 0,
        "attempts_base": 0,
        "failures": 0,
        "recoveries": 0,
        "replays": 0,
        "releases": 0,
        "options": Options(),
        "created_at": ago(300),
        "scheduled_at": None,
        "ready_at": ago(300),
        "due_at": None,
        "started_at": None,
        "finished_at": None,
        "content_type": "application/json",
        "payload": b'{"order": 1}',
        "result": None,
        "error": None,
        "reason": None,
        "worker": None,
        "lease": None,
        "tags": (),
        "traceparent": None,
        "created_by": "checkout-api",
        "rev": 3,
        "history": (),
    }
    return Job(**(values | fields))


def dead_group(**fields: Any) -> DeadGroup:
    values: dict[str, Any] = {
        "queue": "billing",
        "key": "0123456789abcdef",
        "type": "charge_card",
        "kind": "GatewayTimeout",
        "message": "no answer in * s",
        "size": 12,
        "first_at": ago(900),
        "last_at": ago(4),
    }
    return DeadGroup(**(values | fields))


def attempt(number: int, outcome: str, *, began_s: float, ended_s: float, kind: str = "", trace: str = "") -> Attempt:
    error = JobError(kind, "no answer") if kind else None
    return Attempt(number, outcome, "node-1-17", 88_000 + number, ago(began_s), ago(ended_s), error, trace)


def throughput(*completed: int, step_s: int = 10, until_s: float = 0) -> Throughput:
    first = until_s + step_s * len(completed)
    points = tuple(
        Point(ago(first - step_s * index), count, count, 0, 0, 0, 0, 0) for index, count in enumerate(completed)
    )
    return Throughput(step_s, points)


def reading(*completed: int) -> Reading:
    """What the Overview reads where nothing is wrong."""
    return Reading(throughput(*completed), {}, Signs())
