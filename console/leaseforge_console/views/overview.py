"""The Overview: what is wrong, how many jobs are where, how fast they go, what runs longest."""

from dataclasses import dataclass
from urllib.parse import urlencode

from leaseforge.jobs import JobState
from leaseforge.statistics import Throughput
from leaseforge.workers import WorkerState
from leaseforge_console.charts import Chart
from leaseforge_console.filters import plural
from leaseforge_console.views.figures import Figures, Shapes, by_type
from leaseforge_console.views.notices import Notice, notices
from leaseforge_console.views.signs import Signs
from leaseforge_console.views.snapshot import Snapshot
from leaseforge_console.views.trends import RANGES, SHAPES_S, THROUGHPUT, TROUBLE, per_second

_MOST_ROWS = 8
_FAILING = 0.01
_ORDER = (
    JobState.READY,
    JobState.RUNNING,
    JobState.SCHEDULED,
    JobState.RETRYING,
    JobState.COMPLETED,
    JobState.DEAD,
    JobState.CANCELLED,
)


_LISTS = {
    JobState.SCHEDULED: "/delayed?state=scheduled",
    JobState.RETRYING: "/delayed?state=retrying",
    JobState.DEAD: "/dead",
}
"""Where jobs of some states are listed with what can be done to them; the others are among all jobs."""


@dataclass(frozen=True, slots=True)
class Stat:
    """Jobs in one state over all queues; `path` leads to them."""

    state: JobState
    count: int
    alarm: bool
    path: str


@dataclass(frozen=True, slots=True)
class Backlog:
    """A queue and what waits in it."""

    name: str
    paused: bool
    ready: int
    oldest_s: float | None


@dataclass(frozen=True, slots=True)
class LongRun:
    """A job that runs now, as of its worker's last report."""

    id: str
    type: str
    queue: str
    host: str
    runs_s: float


@dataclass(frozen=True, slots=True)
class Range:
    """A choice of how much throughput to show."""

    label: str
    path: str
    current: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """The page. Charts are None until something has been counted; `empty` before the first job ever."""

    summary: str
    empty: bool
    notices: tuple[Notice, ...]
    stats: tuple[Stat, ...]
    ranges: tuple[Range, ...]
    chart: Chart | None
    trouble: Chart | None
    types: tuple[Figures, ...]
    types_note: str
    backlog: tuple[Backlog, ...]
    queues: int
    longest: tuple[LongRun, ...]
    running: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What the page needs besides the snapshot."""

    throughput: Throughput
    shapes: Shapes
    signs: Signs


def build(snapshot: Snapshot, reading: Reading, seconds: int) -> Overview:
    """From one snapshot and what was read of the last `seconds`."""
    live = [worker for worker in snapshot.workers if worker.state is not WorkerState.LOST]
    busy, slots = sum(worker.running_count for worker in live), sum(worker.slots for worker in live)
    return Overview(
        summary=f"{plural(len(snapshot.queues), 'queue')} · {plural(len(live), 'worker')} · "
        f"{plural(slots, 'slot')}, {busy:,} busy",
        empty=not snapshot.queues,
        notices=notices(snapshot, reading.signs),
        stats=tuple(_stat(state, snapshot) for state in _ORDER),
        ranges=tuple(Range(label, f"/?seconds={s}", s == seconds) for s, label in RANGES),
        chart=throughput_chart(reading.throughput, snapshot),
        trouble=per_second("Failures per second", TROUBLE, reading.throughput, snapshot),
        types=_types(reading.shapes),
        types_note="of the last 24 h" if seconds > SHAPES_S else "",
        backlog=_backlog(snapshot),
        queues=len(snapshot.queues),
        longest=_longest(snapshot),
        running=busy,
    )


def throughput_chart(throughput: Throughput, snapshot: Snapshot) -> Chart | None:
    """Jobs per second that came, ended well, and failed."""
    return per_second("Jobs per second", THROUGHPUT, throughput, snapshot)


def _stat(state: JobState, snapshot: Snapshot) -> Stat:
    count = snapshot.total(state)
    return Stat(
        state, count, state is JobState.DEAD and count > 0, _LISTS.get(state, f"/jobs?{urlencode({'state': state})}")
    )


def _types(shapes: Shapes) -> tuple[Figures, ...]:
    """What fails most, then what takes longest."""

    def key(row: Figures) -> tuple[float, float]:
        failing = row.failing or 0
        return -(failing if failing >= _FAILING else 0), -(row.run.p95 or 0)

    return tuple(sorted(by_type(shapes), key=key)[:_MOST_ROWS])


def _backlog(snapshot: Snapshot) -> tuple[Backlog, ...]:
    rows = [
        Backlog(queue.name, queue.paused, queue.counts.get(JobState.READY, 0), queue.oldest_ready_s)
        for queue in snapshot.queues
    ]
    return tuple(sorted(rows, key=lambda row: (-row.ready, row.name))[:_MOST_ROWS])


def _longest(snapshot: Snapshot) -> tuple[LongRun, ...]:
    now = snapshot.now
    runs = [
        LongRun(
            job.id,
            job.type,
            job.queue,
            worker.host,
            max((now - job.started_at).total_seconds(), 0),
        )
        for worker in snapshot.workers
        if worker.state is not WorkerState.LOST
        for job in worker.running
    ]
    return tuple(sorted(runs, key=lambda run: -run.runs_s)[:_MOST_ROWS])
