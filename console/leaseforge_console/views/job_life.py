"""What happened to a job: its attempts, and its life from enqueue to end as far as it is known."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from leaseforge.jobs import Attempt, Job, JobState
from leaseforge_console.filters import NOTHING, exact, span
from leaseforge_console.views.queue import told_when
from leaseforge_console.views.workers import path_of

_OUTCOMES = {
    "failed": ("failed", "dead"),
    "timeout": ("timed out", "dead"),
    "crashed": ("crashed", "dead"),
    "lost": ("lease lost", "retrying"),
    "released": ("given back", "cancelled"),
    "cancelled": ("cancelled", "cancelled"),
}
REASONS = {
    "attempts_exhausted": "its attempts are spent",
    "poison": "its process died again and again while it ran",
    "unknown_type": "no worker knows its type",
    "bad_payload": "its payload cannot be read",
    "payload_missing": "its payload is gone",
    "record_missing": "its record was lost",
    "record_of_wrong_type": "its record was damaged",
    "sequence_missing": "its record was damaged",
}


@dataclass(frozen=True, slots=True)
class Event:
    """A moment of the job's life. `tone` is a state's name; `open` marks what has not happened yet."""

    tone: str
    what: str
    detail: str
    at: datetime | None
    open: bool = False


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt. `ended_at` is None while it runs; `fence` is None where the record does not keep it any more.

    `worker_path` leads to the worker if it is still known.
    """

    number: int
    outcome: str
    tone: str
    worker: str
    worker_path: str | None
    fence: int | None
    ran: str
    ended_at: datetime | None
    error_kind: str | None
    error_message: str
    traceback: str


def attempts(job: Job, now: datetime, workers: Collection[str]) -> tuple[AttemptRow, ...]:
    """All that are known, the newest first: those that ended other than well, and the one that runs or ended well."""
    rows = [_attempt(attempt, workers) for attempt in reversed(job.history)]
    if job.started_at and _is_latest_unsung(job):
        ended = job.finished_at if job.state is JobState.COMPLETED else None
        row = AttemptRow(
            number=job.attempts,
            outcome="completed" if ended else "runs",
            tone=job.state.value,
            worker=job.worker or NOTHING,
            worker_path=known_worker(job.worker, workers),
            fence=job.lease.fence if job.lease else None,
            ran=span(((ended or now) - job.started_at).total_seconds()),
            ended_at=ended,
            error_kind=None,
            error_message="",
            traceback="",
        )
        rows.insert(0, row)
    return tuple(rows)


def known_worker(worker: str | None, workers: Collection[str]) -> str | None:
    """The page of a worker that has not been forgotten."""
    return path_of(worker) if worker and worker in workers else None


def _is_latest_unsung(job: Job) -> bool:
    """Whether the last attempt is not in the history: it runs, or it ended well."""
    last = job.history[-1].started_at if job.history else None
    return job.started_at != last and job.state in (JobState.RUNNING, JobState.COMPLETED)


def _attempt(attempt: Attempt, workers: Collection[str] = ()) -> AttemptRow:
    outcome, tone = _OUTCOMES.get(attempt.outcome, (attempt.outcome, "cancelled"))
    return AttemptRow(
        number=attempt.number,
        outcome=outcome,
        tone=tone,
        worker=attempt.worker,
        worker_path=known_worker(attempt.worker, workers),
        fence=attempt.fence,
        ran=span((attempt.ended_at - attempt.started_at).total_seconds()),
        ended_at=attempt.ended_at,
        error_kind=attempt.error.kind if attempt.error else None,
        error_message=attempt.error.message if attempt.error else _NOT_CHARGED.get(outcome, ""),
        traceback=attempt.traceback,
    )


_NOT_CHARGED = {
    "lease lost": "the worker did not renew its lease in time; not charged as a failure",
    "given back": "the worker stopped and gave it back; not charged",
}


def events(job: Job, now: datetime) -> tuple[Event, ...]:
    """The moments of its life in order, and what comes next."""
    by = f" by {job.created_by}" if job.created_by else ""
    events = [Event("ready", f"Enqueued{by}", _due(job), job.created_at)]
    since = job.scheduled_at or job.created_at
    for attempt in job.history:
        events.append(_claimed(attempt.worker, attempt.fence, attempt.started_at, since))
        row = _attempt(attempt)
        detail = " · ".join(part for part in (row.error_kind, f"after {row.ran}") if part)
        events.append(Event(row.tone, row.outcome.capitalize(), detail, attempt.ended_at))
        since = attempt.ended_at
    return tuple(events + _latest(job, since, now))


def _latest(job: Job, since: datetime | None, now: datetime) -> list[Event]:
    """What the history does not hold: the running attempt, a good end, or what comes next."""
    claimed = []
    if job.started_at and _is_latest_unsung(job):
        claimed = [_claimed(job.worker or "a worker", job.lease.fence if job.lease else None, job.started_at, since)]
    match job.state:
        case JobState.SCHEDULED | JobState.RETRYING:
            what = "Due" if job.state is JobState.SCHEDULED else "Next attempt"
            return [Event(job.state.value, what, told_when(job, now)[0], job.due_at, open=True)]
        case JobState.READY:
            return [Event("ready", "Ready", "the next free worker takes it", job.ready_at, open=True)]
        case JobState.RUNNING:
            runs = Event("running", "Runs", told_when(job, now)[0].removeprefix("runs "), None, open=True)
            asked = Event("cancelled", "Asked to stop", "its worker hears of it at the next renewal", None, open=True)
            return [*claimed, runs, asked] if job.cancel_requested else [*claimed, runs]
        case JobState.COMPLETED:
            return [*claimed, Event("completed", "Completed", _ran(job), job.finished_at)]
        case JobState.DEAD:
            reason = REASONS.get(job.reason or "", job.reason or "")
            return [Event("dead", "Dead", reason, job.finished_at)]
        case JobState.CANCELLED:
            return [Event("cancelled", "Cancelled", job.reason or "", job.finished_at)]


def _claimed(worker: str, fence: int | None, at: datetime, since: datetime | None) -> Event:
    waited = f"waited {span((at - since).total_seconds())}" if since and at >= since else ""
    token = f"token {fence}" if fence else ""
    return Event("running", f"Claimed by {worker}", " · ".join(part for part in (waited, token) if part), at)


def _due(job: Job) -> str:
    return f"for {exact(job.scheduled_at)}" if job.scheduled_at else ""


def _ran(job: Job) -> str:
    if job.finished_at and job.started_at:
        return f"ran {span((job.finished_at - job.started_at).total_seconds())}"
    return ""


def lived(job: Job) -> str:
    """How long it took from enqueue to end, once it has ended."""
    if job.created_at and job.finished_at:
        return f"{span((job.finished_at - job.created_at).total_seconds())} from enqueue to end"
    return "times in UTC"
