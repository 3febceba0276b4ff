"""One job from top to bottom: what it is now, what can be done, why it failed, what happened when."""

from dataclasses import dataclass
from datetime import datetime

from leaseforge.jobs import Attempt, Job, JobError, JobState
from leaseforge_console.filters import NOTHING, exact, span
from leaseforge_console.payloads import Shown, show
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.queue import failures, told_when

_OUTCOMES = {
    "failed": ("failed", "dead"),
    "timeout": ("timed out", "dead"),
    "crashed": ("crashed", "dead"),
    "lost": ("lease lost", "retrying"),
    "released": ("given back", "cancelled"),
    "cancelled": ("cancelled", "cancelled"),
}
_REASONS = {
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
    """An attempt that ended other than well."""

    number: int
    outcome: str
    tone: str
    worker: str
    fence: int
    ran: str
    ended_at: datetime
    error_kind: str | None
    error_message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class JobPage:
    """The page. `payload` is None when there is none or the role may not read it (`payload_hidden`).

    `group_path` leads to the dead jobs that failed alike.
    `operation` names an action on exactly this revision: pressed twice, or by two people, it is done once.
    """

    id: str
    queue: str
    type: str
    state: JobState
    priority: int
    when: str
    when_exact: str
    can_retry: bool
    can_delete: bool
    is_delayed: bool
    group_path: str | None
    operation: str
    error: JobError | None
    traceback: str
    reason: str | None
    events: tuple[Event, ...]
    lived: str
    attempts: tuple[AttemptRow, ...]
    payload: Shown | None
    payload_hidden: bool
    result: Shown | None
    content_type: str
    facts: tuple[tuple[str, str], ...]
    worker: str | None
    fence: int | None
    lease_s: float | None
    lease_exact: str
    tags: tuple[str, ...]
    trace_id: str | None


@dataclass(frozen=True, slots=True)
class ActionSent:
    """What a job's action sends back: the revision it was offered for."""

    operation: str


def build(job: Job, now: datetime, *, may_read_payload: bool) -> JobPage:
    """From a whole job; `now` is Redis's clock."""
    when, at = told_when(job, now)
    attempts = tuple(_attempt(attempt) for attempt in reversed(job.history))
    failed = next((row for row in attempts if row.traceback), None)
    readable = may_read_payload and job.payload is not None
    return JobPage(
        id=job.id,
        queue=job.queue,
        type=job.type,
        state=job.state,
        priority=job.priority,
        when=when,
        when_exact=exact(at) if at else "",
        can_retry=job.state is JobState.DEAD,
        can_delete=job.state is not JobState.RUNNING,
        is_delayed=job.state in (JobState.SCHEDULED, JobState.RETRYING),
        group_path=_group_path(job),
        operation=f"rev-{job.rev}",
        error=job.error,
        traceback=failed.traceback if failed and job.error else "",
        reason=_REASONS.get(job.reason, job.reason) if job.reason else None,
        events=_events(job, now),
        lived=_lived(job),
        attempts=attempts,
        payload=show(job.payload or b"", job.content_type) if readable else None,
        payload_hidden=not may_read_payload,
        result=show(job.result, "application/json") if may_read_payload and job.result else None,
        content_type=job.content_type,
        facts=_facts(job),
        worker=job.worker,
        fence=job.lease.fence if job.lease else None,
        lease_s=(job.lease.expires_at - now).total_seconds() if job.lease else None,
        lease_exact=exact(job.lease.expires_at) if job.lease else "",
        tags=job.tags,
        trace_id=job.traceparent.split("-")[1] if job.traceparent and job.traceparent.count("-") == 3 else None,
    )


def _group_path(job: Job) -> str | None:
    """To the jobs that failed alike."""
    if job.state is not JobState.DEAD or not job.group:
        return None
    return "/dead/jobs" + Asked(queue=job.queue, group=job.group).query()


def _attempt(attempt: Attempt) -> AttemptRow:
    outcome, tone = _OUTCOMES.get(attempt.outcome, (attempt.outcome, "cancelled"))
    return AttemptRow(
        number=attempt.number,
        outcome=outcome,
        tone=tone,
        worker=attempt.worker,
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


def _events(job: Job, now: datetime) -> tuple[Event, ...]:
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
    last = job.history[-1].started_at if job.history else None
    if job.started_at and job.started_at != last and job.state in (JobState.RUNNING, JobState.COMPLETED):
        claimed = [_claimed(job.worker or "a worker", job.lease.fence if job.lease else None, job.started_at, since)]
    match job.state:
        case JobState.SCHEDULED | JobState.RETRYING:
            what = "Due" if job.state is JobState.SCHEDULED else "Next attempt"
            return [Event(job.state.value, what, told_when(job, now)[0], job.due_at, open=True)]
        case JobState.READY:
            return [Event("ready", "Ready", "the next free worker takes it", job.ready_at, open=True)]
        case JobState.RUNNING:
            return [*claimed, Event("running", "Runs", told_when(job, now)[0].removeprefix("runs "), None, open=True)]
        case JobState.COMPLETED:
            return [*claimed, Event("completed", "Completed", _ran(job), job.finished_at)]
        case JobState.DEAD:
            reason = _REASONS.get(job.reason or "", job.reason or "")
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


def _lived(job: Job) -> str:
    if job.created_at and job.finished_at:
        return f"{span((job.finished_at - job.created_at).total_seconds())} from enqueue to end"
    return "times in UTC"


def _facts(job: Job) -> tuple[tuple[str, str], ...]:
    options, base = job.options, job.options.backoff_base_ms
    backoff = options.backoff.value if options.backoff else ("exponential" if base else "")
    if base:
        backoff += f" from {span(base / 1000)}"
    if options.backoff_cap_ms:
        backoff += f" to {span(options.backoff_cap_ms / 1000)}"
    limit = options.max_attempts
    before = f", {job.attempts_base:,} of them before the last retry by hand" if job.attempts_base else ""
    facts = (
        ("Created", exact(job.created_at) if job.created_at else NOTHING),
        ("Scheduled for", exact(job.scheduled_at) if job.scheduled_at else ""),
        ("Attempts", f"{job.attempts:,}{before}"),
        ("Failures", failures(job)),
        ("Lost leases", f"{job.recoveries:,}"),
        ("Given back", f"{job.releases:,}" if job.releases else ""),
        ("Retried by hand", f"{job.replays:,}" if job.replays else ""),
        ("Max attempts", "without limit" if limit == 0 else f"{limit:,}" if limit else "the task's own"),
        ("Timeout", span(options.timeout_ms / 1000) if options.timeout_ms else "the task's own"),
        ("Backoff", backoff or "the task's own"),
    )
    return tuple((label, value) for label, value in facts if value)
