"""What the stream of events tells, as JSON."""

from enum import StrEnum

from msgspec import Struct

from leaseforge.bulk_records import BulkAction, BulkOperation, BulkState
from leaseforge.jobs import Job
from leaseforge.queues import QueueInfo
from leaseforge.workers import WorkerInfo
from leaseforge_api.schemas.bulk import BulkCountsShown, OutcomesShown, operation_shown
from leaseforge_api.schemas.job import Error, ProgressShown
from leaseforge_api.schemas.queues import LimitsShown, limits_shown
from leaseforge_api.schemas.values import Instant, instant, instant_or_none
from leaseforge_auth.permissions import Permission


class EventTopic(StrEnum):
    """What a stream can be about; `?topics=` names some of them."""

    QUEUES = "queues"
    JOBS = "jobs"
    WORKERS = "workers"
    OPERATIONS = "operations"
    NOTICES = "notices"

    @property
    def permission(self) -> Permission:
        """What a caller needs to hear of it: what the route that answers the same needs."""
        return _PERMISSIONS[self]


_PERMISSIONS = {
    EventTopic.QUEUES: Permission.QUEUES_READ,
    EventTopic.JOBS: Permission.JOBS_READ,
    EventTopic.WORKERS: Permission.WORKERS_READ,
    EventTopic.OPERATIONS: Permission.JOBS_READ,
    EventTopic.NOTICES: Permission.SYSTEM_READ,
}


class StartEvent(Struct, frozen=True):
    """The first event. Unless `resumed`, everything there is follows: forget what was known before."""

    topics: list[EventTopic]
    resumed: bool


class QueueEvent(Struct, frozen=True):
    """A queue, whenever something of it has changed. `totals` count since the queue began."""

    name: str
    paused: bool
    counts: dict[str, int]
    totals: dict[str, int]
    limits: LimitsShown


class JobEvent(Struct, frozen=True):
    """A job that has died."""

    id: str
    queue: str
    type: str
    status: str
    attempts: int
    error: Error | None
    reason: str | None
    group: str | None
    finished_at: Instant | None


class FollowedJobEvent(JobEvent, frozen=True):
    """The one job a stream follows, whenever something of it has changed."""

    due_at: Instant | None
    started_at: Instant | None
    progress: ProgressShown | None
    cancel_requested: bool


class WorkerEvent(Struct, frozen=True):
    """A worker: when it comes, when its state or the number of jobs it runs changes."""

    id: str
    host: str
    pid: int
    version: str
    queues: list[str]
    slots: int
    state: str
    running_count: int
    started_at: Instant


class OperationEvent(Struct, frozen=True):
    """A bulk operation: its state and how far it is."""

    id: str
    action: BulkAction
    state: BulkState
    created_by: str
    queues: list[str]
    counts: BulkCountsShown
    outcomes: OutcomesShown
    error: str | None
    created_at: Instant | None
    ended_at: Instant | None


class GoneEvent(Struct, frozen=True):
    """Something is not there any more: `event` and `key` are those it was told under."""

    event: str
    key: str


class SyncedEvent(Struct, frozen=True):
    """All that was found at this moment has been told."""

    at: Instant


class TroubleEvent(Struct, frozen=True):
    """Nothing could be read; the stream goes on, and so do the attempts."""

    detail: str


class EndEvent(Struct, frozen=True):
    """The last event: the server stops (`stopping`), or the token does not do any more (`not-authenticated`).

    Of a job that is followed: it has ended (`job-ended`) or is not there any more (`job-gone`).
    """

    reason: str


def queue_event(info: QueueInfo) -> QueueEvent:
    """A queue's snapshot as an event."""
    counts = {str(state): count for state, count in info.counts.items()}
    return QueueEvent(info.name, info.paused, counts, dict(info.totals), limits_shown(info.limits))


def job_event(job: Job) -> JobEvent:
    """A job as an event, without payload and result."""
    return JobEvent(
        id=job.id,
        queue=job.queue,
        type=job.type,
        status=job.state,
        attempts=job.attempts,
        error=Error(job.error.kind, job.error.message) if job.error else None,
        reason=job.reason,
        group=job.group,
        finished_at=instant_or_none(job.finished_at),
    )


def followed_job_event(job: Job) -> FollowedJobEvent:
    """The same of a job that is followed, with what changes while it lives."""
    known = job_event(job)
    return FollowedJobEvent(
        **{name: getattr(known, name) for name in known.__struct_fields__},
        due_at=instant_or_none(job.due_at),
        started_at=instant_or_none(job.started_at),
        progress=ProgressShown(job.progress.percent, job.progress.note) if job.progress else None,
        cancel_requested=job.cancel_requested,
    )


def worker_event(info: WorkerInfo) -> WorkerEvent:
    """A worker's snapshot as an event; what changes with every report is left out."""
    return WorkerEvent(
        id=info.id,
        host=info.host,
        pid=info.pid,
        version=info.version,
        queues=list(info.queues),
        slots=info.slots,
        state=info.state,
        running_count=info.running_count,
        started_at=instant(info.started_at),
    )


def operation_event(operation: BulkOperation) -> OperationEvent:
    """A bulk operation as an event, without its filter and sample."""
    shown = operation_shown(operation)
    return OperationEvent(
        id=shown.id,
        action=shown.action,
        state=shown.state,
        created_by=shown.created_by,
        queues=shown.queues,
        counts=shown.counts,
        outcomes=shown.outcomes,
        error=shown.error,
        created_at=shown.created_at,
        ended_at=shown.ended_at,
    )
