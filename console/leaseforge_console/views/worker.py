"""One worker: what it holds and for how long, what it is told, who it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from leaseforge.held import Held
from leaseforge.jobs import Progress
from leaseforge.workers import Command, WorkerInfo, WorkerState
from leaseforge_console.filters import plural, span
from leaseforge_console.views.snapshot import ALL_QUEUES, Snapshot
from leaseforge_console.views.workers import TONES, path_of

_MOST_NAMED = 6
_ASKED = {
    Command.QUIET: ("Told to be quiet:", "it claims nothing new from its next report on."),
    Command.RESUME: ("Told to resume:", "it claims again from its next report on."),
    Command.STOP: ("Told to stop:", "it drains and exits from its next report on."),
}
_CANCELLING = "told to stop: the job is cancelled"


@dataclass(frozen=True, slots=True)
class Note:
    """Something about the worker that is not as usual. `tone` is "bad" or "warn"."""

    tone: str
    lead: str
    text: str


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A job the worker runs by its last report. `left_s` is below 0 for a lease that is over, None without one."""

    id: str
    type: str
    queue: str
    attempt: int | None
    runs_s: float
    started_at: datetime
    left_s: float | None
    ends_at: datetime | None
    fence: int
    progress: Progress | None
    note: str


@dataclass(frozen=True, slots=True)
class Worker:
    """The page. `alone_for` are queues that no other worker serves; `path` is the worker's own address."""

    id: str
    name: str
    path: str
    state: WorkerState
    tone: str
    summary: str
    notes: tuple[Note, ...]
    can_quiet: bool
    can_resume: bool
    can_stop: bool
    rows: tuple[LeaseRow, ...]
    unnamed: int
    busy: int
    slots: int
    queues: tuple[str, ...]
    types: tuple[str, ...]
    version: str
    rss_bytes: int
    started_at: datetime
    seen_at: datetime
    gap_ms: int
    alone_for: tuple[str, ...]
    alone_for_more: int


def build(info: WorkerInfo, held: Sequence[Held], snapshot: Snapshot) -> Worker:
    """From one worker's report and the leases of the jobs it names."""
    rows = sorted((_row(one, snapshot.now) for one in held), key=lambda row: (not _is_over(row), -row.runs_s))
    alone = _alone_for(info, snapshot)
    hears = info.state is not WorkerState.LOST
    return Worker(
        id=info.id,
        name=f"{info.host}:{info.pid}",
        path=path_of(info.id),
        state=info.state,
        tone=TONES[info.state],
        summary=f"{plural(info.slots, 'slot')}, {info.running_count:,} busy · {_serves(info)}",
        notes=tuple(_notes(info, snapshot.now)),
        can_quiet=info.state is WorkerState.RUNNING and info.wanted not in (Command.QUIET, Command.STOP),
        can_resume=info.state is not WorkerState.STOPPING
        and hears
        and (info.state is WorkerState.QUIET or info.wanted is Command.QUIET)
        and info.wanted not in (Command.RESUME, Command.STOP),
        can_stop=info.state in (WorkerState.RUNNING, WorkerState.QUIET) and info.wanted is not Command.STOP,
        rows=tuple(rows),
        unnamed=max(info.running_count - len(rows), 0),
        busy=info.running_count,
        slots=info.slots,
        queues=info.queues,
        types=info.types,
        version=info.version,
        rss_bytes=info.rss_bytes,
        started_at=info.started_at,
        seen_at=info.last_seen_at,
        gap_ms=info.longest_renewal_gap_ms,
        alone_for=tuple(alone[:_MOST_NAMED]),
        alone_for_more=max(len(alone) - _MOST_NAMED, 0),
    )


def _serves(info: WorkerInfo) -> str:
    if ALL_QUEUES in info.queues:
        return "serves every queue"
    return f"serves {plural(len(info.queues), 'queue')}"


def _notes(info: WorkerInfo, now: datetime) -> list[Note]:
    notes = []
    if info.state is WorkerState.LOST:
        silent = span((now - info.last_seen_at).total_seconds())
        text = (
            "its jobs go back to their queues when their leases end. "
            f"It may still run, cut off from Redis: process {info.pid} on {info.host}."
        )
        notes.append(Note("bad", f"Not heard of for {silent}:", text))
    elif info.wanted is not None:
        notes.append(Note("warn", *_ASKED[info.wanted]))
    if info.state is WorkerState.STOPPING:
        notes.append(Note("warn", "Stopping:", "it lets what runs end for a while, gives the rest back and exits."))
    if info.state is WorkerState.QUIET and info.wanted is None:
        notes.append(Note("warn", "Quiet:", "it claims nothing new until it is resumed; what runs goes on."))
    return notes


def _row(one: Held, now: datetime) -> LeaseRow:
    job, lease = one.job, one.lease
    return LeaseRow(
        id=job.id,
        type=job.type,
        queue=job.queue,
        attempt=lease.attempts if lease else None,
        runs_s=max((now - job.started_at).total_seconds(), 0),
        started_at=job.started_at,
        left_s=lease.left.total_seconds() if lease else None,
        ends_at=lease.expires_at if lease else None,
        fence=job.fence,
        progress=lease.progress if lease else None,
        note=_CANCELLING if lease and lease.cancel_requested else "",
    )


def _is_over(row: LeaseRow) -> bool:
    return row.left_s is not None and row.left_s < 0


def _alone_for(info: WorkerInfo, snapshot: Snapshot) -> list[str]:
    """Known queues that nobody else claims from."""
    return [
        queue.name
        for queue in snapshot.queues
        if (serving := snapshot.workers_of(queue.name)) and {worker.id for worker in serving} == {info.id}
    ]
