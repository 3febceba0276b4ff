"""One queue: its state, its throughput, and its jobs state by state."""

from dataclasses import dataclass
from datetime import datetime

from leaseforge.jobs import Job, JobState
from leaseforge.queues import QueueLimits
from leaseforge.reads import Page
from leaseforge.statistics import Rate, Throughput
from leaseforge_console.charts import Chart
from leaseforge_console.filters import NOTHING, compact, exact, plural, rate, relative, span
from leaseforge_console.views import queues
from leaseforge_console.views.overview import throughput_chart
from leaseforge_console.views.queue_limits import in_short
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.tables import Pages, shown

PAGE_SIZE = 50
TABS = (
    JobState.READY,
    JobState.RUNNING,
    JobState.RETRYING,
    JobState.SCHEDULED,
    JobState.DEAD,
    JobState.COMPLETED,
    JobState.CANCELLED,
)
_ORDER = {
    JobState.READY: "next to run first",
    JobState.RUNNING: "lease that ends first",
    JobState.RETRYING: "next due first",
    JobState.SCHEDULED: "next due first",
}


@dataclass(frozen=True, slots=True)
class Tab:
    """One state of the queue's jobs."""

    state: JobState
    count: int
    path: str
    current: bool


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in a list. `when` says what its state makes worth knowing, `at` is the exact time behind it."""

    id: str
    type: str
    priority: int
    attempts: int
    failures: str
    when: str
    at: str
    worker: str | None
    error_kind: str | None
    error_message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What the page needs besides the snapshot: a page of jobs in one state, the throughput, the present rate."""

    jobs: Page[Job]
    throughput: Throughput
    rate: Rate


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the queue in words, and what it is of. `alarm`: somebody should look."""

    label: str
    value: str
    note: str
    alarm: bool = False


@dataclass(frozen=True, slots=True)
class Queue:
    """The page. `order` says how the jobs are sorted; `chart` is None until something has been counted.

    `limits` are those the queue has of its own, label and value.
    """

    row: queues.QueueRow
    summary: str
    figures: tuple[Figure, ...]
    limits: tuple[tuple[str, str], ...]
    state: JobState
    tabs: tuple[Tab, ...]
    jobs: tuple[JobRow, ...]
    order: str
    pages: Pages
    chart: Chart | None
    with_worker: bool
    with_error: bool


def first_state(row: queues.QueueRow) -> JobState:
    """The tab shown when none is asked for: the first that holds something, waiting and running jobs before others."""
    for state in (JobState.READY, JobState.RUNNING, JobState.RETRYING, JobState.SCHEDULED, JobState.DEAD):
        if getattr(row, state.value):
            return state
    return JobState.COMPLETED


def build(name: str, state: JobState, reading: Reading, snapshot: Snapshot) -> Queue:
    """One page of one state; `name` is in the snapshot."""
    info = next(queue for queue in snapshot.queues if queue.name == name)
    row = queues.row(info, snapshot)
    serving = len(snapshot.workers_of(name))
    jobs = reading.jobs
    return Queue(
        row=row,
        summary=f"{plural(serving, 'worker')}, {plural(row.slots, 'slot')}",
        figures=_figures(row, reading.rate, info.limits),
        limits=in_short(info),
        state=state,
        tabs=tuple(
            Tab(each, info.counts.get(each, 0), f"/queues/{name}?state={each.value}", each is state) for each in TABS
        ),
        jobs=tuple(_row(job, snapshot.now) for job in jobs.items),
        order=_ORDER.get(state, "newest first"),
        pages=_pages(name, state, jobs),
        chart=throughput_chart(reading.throughput, snapshot),
        with_worker=state is JobState.RUNNING,
        with_error=state in (JobState.RETRYING, JobState.DEAD, JobState.CANCELLED),
    )


def _figures(row: queues.QueueRow, now: Rate, limits: QueueLimits) -> tuple[Figure, ...]:
    cap = limits.max_running
    return (
        Figure("ready", compact(row.ready), "wait to be taken"),
        Figure(
            "oldest waits", NOTHING if row.oldest_s is None else span(row.oldest_s), "of the ready jobs", row.unserved
        ),
        Figure("in", f"{rate(now.enqueued)}/s", "submitted, last minute"),
        Figure("out", f"{rate(now.completed)}/s", "completed, last minute"),
        Figure(
            "running",
            f"{compact(row.running)} / {compact(row.slots if cap is None else cap)}",
            "of its workers' slots" if cap is None else "of the cap",
        ),
        Figure("drained in", *_drain(row, now)),
    )


def _drain(row: queues.QueueRow, now: Rate) -> tuple[str, str, bool]:
    """When nothing would be ready any more if it went on like this; and whether that is never."""
    if not row.ready:
        return NOTHING, "nothing waits", False
    if row.paused:
        return NOTHING, "it is paused", False
    if row.unserved:
        return NOTHING, "no worker serves it", True
    more = now.completed - now.enqueued
    if more <= 0:
        return NOTHING, f"it grows by {rate(-more)}/s" if more < 0 else "as much comes as goes", False
    return f"~{span(max(row.ready / more, 1))}", "at the present rates", False


def _row(job: Job, now: datetime) -> JobRow:
    when, at = told_when(job, now)
    return JobRow(
        id=job.id,
        type=job.type,
        priority=job.priority,
        attempts=job.attempts,
        failures=failures(job),
        when=when,
        at=exact(at) if at else "",
        worker=job.worker,
        error_kind=job.error.kind if job.error else job.reason,
        error_message=job.error.message if job.error else "",
    )


def failures(job: Job) -> str:
    """Failures and their budget, as far as the job itself sets one: `2 of 3`."""
    budget = job.options.max_attempts
    return f"{job.failures:,} of {budget:,}" if budget else f"{job.failures:,}"


def told_when(job: Job, now: datetime) -> tuple[str, datetime | None]:
    """What the state makes worth knowing about time, and the instant it is about."""
    ended = _took(job)
    match job.state:
        case JobState.SCHEDULED if job.due_at:
            return f"due {relative(job.due_at, now)}", job.due_at
        case JobState.RETRYING if job.due_at:
            return f"again {relative(job.due_at, now)}", job.due_at
        case JobState.READY if job.ready_at:
            return f"waits {span((now - job.ready_at).total_seconds())}", job.ready_at
        case JobState.RUNNING if job.started_at:
            return f"runs {span((now - job.started_at).total_seconds())}", job.started_at
        case JobState.COMPLETED if job.finished_at:
            return f"done {relative(job.finished_at, now)}{ended}", job.finished_at
        case JobState.DEAD if job.finished_at:
            return f"died {relative(job.finished_at, now)}", job.finished_at
        case JobState.CANCELLED if job.finished_at:
            return f"cancelled {relative(job.finished_at, now)}", job.finished_at
    return "", None


def _took(job: Job) -> str:
    if job.started_at and job.finished_at and job.finished_at >= job.started_at:
        return f", took {span((job.finished_at - job.started_at).total_seconds())}"
    return ""


def _pages(name: str, state: JobState, jobs: Page[Job]) -> Pages:
    def path(offset: int) -> str:
        return f"/queues/{name}?state={state.value}" + (f"&offset={offset}" if offset else "")

    last = jobs.offset + len(jobs.items)
    return Pages(
        shown(jobs.offset, len(jobs.items), jobs.total, "job"),
        path(max(jobs.offset - PAGE_SIZE, 0)) if jobs.offset else None,
        path(jobs.offset + PAGE_SIZE) if last < jobs.total and jobs.items else None,
    )
