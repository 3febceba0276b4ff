"""The list of workers: who they are, what they serve, what they run."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from urllib.parse import quote

from leaseforge.workers import WorkerInfo, WorkerState
from leaseforge_console.filters import plural
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import EVERYTHING, Column, Look, Narrowed, Table

_MOST_RUNNING = 5
_MOST_QUEUES = 8


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
    """One worker process. `jobs` are the longest running, `more` how many there are besides; queues likewise."""

    id: str
    name: str
    path: str
    state: WorkerState
    tone: str
    queues: tuple[str, ...]
    more_queues: int
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


TONES = {
    WorkerState.RUNNING: "running",
    WorkerState.QUIET: "cancelled",
    WorkerState.STOPPING: "retrying",
    WorkerState.LOST: "dead",
}
_GRAVITY = {WorkerState.RUNNING: 0, WorkerState.QUIET: 1, WorkerState.STOPPING: 2, WorkerState.LOST: 3}


def _is(state: WorkerState, worker: WorkerInfo) -> bool:
    return worker.state is state


@dataclass(frozen=True, slots=True)
class Workers:
    """The page: one page of the rows, all of them in `table`."""

    summary: str
    table: Narrowed[WorkerInfo]
    rows: tuple[WorkerRow, ...]


def _words(worker: WorkerInfo) -> Iterator[str]:
    yield worker.id
    yield f"{worker.host}:{worker.pid}"
    yield worker.version
    yield from worker.queues
    yield from worker.types


TABLE: Table[WorkerInfo] = Table(
    path="/workers",
    what="worker",
    columns=(
        Column("state", "State", lambda worker: _GRAVITY[worker.state], "lost ones first"),
        Column("worker", "Worker", lambda worker: (worker.host, worker.pid), "host", falls=False),
        Column("busy", "Busy", lambda worker: (worker.running_count, worker.slots), "busiest"),
        Column("seen", "Last seen", lambda worker: worker.last_seen_at, "longest silent", falls=False),
        Column("gap", "Longest renewal gap", lambda worker: worker.longest_renewal_gap_ms, "longest renewal gap"),
        Column("memory", "Memory", lambda worker: worker.rss_bytes, "most memory"),
        Column("started", "Started", lambda worker: worker.started_at, "newest"),
        Column("version", "Version", lambda worker: worker.version, "version", falls=False),
    ),
    onlies=(
        ("", "all workers", lambda _: True),
        *((state.value, state.value, partial(_is, state)) for state in WorkerState),
        ("idle", "with free slots", lambda worker: worker.running_count < worker.slots),
    ),
    words=_words,
    page_size=50,
)


def build(snapshot: Snapshot, look: Look = EVERYTHING) -> Workers:
    """The workers that are looked for, by default lost ones first: they are what an operator came for."""
    slots = sum(worker.slots for worker in snapshot.workers)
    busy = sum(worker.running_count for worker in snapshot.workers)
    summary = f"{plural(len(snapshot.workers), 'worker')} · {plural(slots, 'slot')}, {busy:,} busy"
    table = TABLE.look(snapshot.workers, look)
    return Workers(summary, table, tuple(_row(worker, snapshot.now) for worker in table.rows))


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
        queues=tuple(worker.queues[:_MOST_QUEUES]),
        more_queues=max(len(worker.queues) - _MOST_QUEUES, 0),
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
