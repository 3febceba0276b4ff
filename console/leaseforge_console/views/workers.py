"""The list of workers: who they are, what they serve, what they run."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from leaseforge.workers import WorkerInfo, WorkerState
from leaseforge_console.filters import plural
from leaseforge_console.views.snapshot import Snapshot

_MOST_RUNNING = 8


def path_of(worker_id: str) -> str:
    """The address of a worker's page."""
    return f"/workers/{quote(worker_id, safe='')}"


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job one of the worker's slots is busy with."""

    id: str
    type: str
    queue: str
    runs_s: float


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker process. `jobs` are the longest running, `more` how many there are besides."""

    id: str
    name: str
    path: str
    state: WorkerState
    tone: str
    queues: tuple[str, ...]
    types: tuple[str, ...]
    busy: int
    slots: int
    jobs: tuple[RunningJob, ...]
    more: int
    version: str
    rss_bytes: int
    started_at: datetime
    seen_at: datetime
    gap_ms: int


@dataclass(frozen=True, slots=True)
class Workers:
    """The page."""

    summary: str
    rows: tuple[WorkerRow, ...]


TONES = {
    WorkerState.RUNNING: "running",
    WorkerState.QUIET: "cancelled",
    WorkerState.STOPPING: "retrying",
    WorkerState.LOST: "dead",
}


def build(snapshot: Snapshot) -> Workers:
    """All registered workers, lost ones first: they are what an operator came for."""
    rows = [_row(worker, snapshot.now) for worker in snapshot.workers]
    rows.sort(key=lambda row: row.state is not WorkerState.LOST)
    slots, busy = sum(row.slots for row in rows), sum(row.busy for row in rows)
    return Workers(f"{plural(len(rows), 'worker')} · {plural(slots, 'slot')}, {busy:,} busy", tuple(rows))


def _row(worker: WorkerInfo, now: datetime) -> WorkerRow:
    jobs = sorted(
        (
            RunningJob(
                job.id,
                job.type,
                job.queue,
                max((now - job.started_at).total_seconds(), 0),
            )
            for job in worker.running
        ),
        key=lambda job: -job.runs_s,
    )
    return WorkerRow(
        id=worker.id,
        name=f"{worker.host}:{worker.pid}",
        path=path_of(worker.id),
        state=worker.state,
        tone=TONES[worker.state],
        queues=tuple(worker.queues),
        types=tuple(worker.types),
        busy=worker.running_count,
        slots=worker.slots,
        jobs=tuple(jobs[:_MOST_RUNNING]),
        more=max(worker.running_count - _MOST_RUNNING, 0),
        version=worker.version,
        rss_bytes=worker.rss_bytes,
        started_at=worker.started_at,
        seen_at=worker.last_seen_at,
        gap_ms=worker.longest_renewal_gap_ms,
    )
