"""One job from top to bottom: what it is now, what can be done, why it failed, what happened when."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from leaseforge.jobs import Job, JobError, JobState, LogLine, Progress
from leaseforge.trace_context import TraceContext, is_traceparent
from leaseforge_console.filters import NOTHING, exact, span
from leaseforge_console.payloads import Shown, show
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.job_life import REASONS, AttemptRow, Event, attempts, events, known_worker, lived
from leaseforge_console.views.queue import failures, told_when

ENDED = (JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD)
DELAYED = (JobState.SCHEDULED, JobState.RETRYING)


@dataclass(frozen=True, slots=True)
class LogRow:
    """A line the job logged. `attempt` is set where the lines of another attempt begin."""

    at: datetime
    text: str
    attempt: str


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
    can_requeue: bool
    can_cancel: bool
    can_delete: bool
    is_delayed: bool
    is_asked_to_stop: bool
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
    progress: Progress | None
    log: tuple[LogRow, ...]
    worker: str | None
    worker_path: str | None
    fence: int | None
    lease_s: float | None
    lease_exact: str
    tags: tuple[str, ...]
    trace_id: str | None


@dataclass(frozen=True, slots=True)
class ActionSent:
    """What a job's action sends back: the revision it was offered for.

    `reason` is for the audit trail, which reads it by itself.
    """

    operation: str
    reason: str = ""


def build(
    job: Job,
    now: datetime,
    *,
    may_read_payload: bool,
    log: Sequence[LogLine] = (),
    workers: Collection[str] = (),
) -> JobPage:
    """From a whole job; `now` is Redis's clock, `workers` are the ids of those that have pages."""
    when, at = told_when(job, now)
    rows = attempts(job, now, workers)
    failed = next((row for row in rows if row.traceback), None)
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
        can_requeue=job.state in (JobState.COMPLETED, JobState.CANCELLED),
        can_cancel=job.state not in ENDED and not job.cancel_requested,
        can_delete=job.state is not JobState.RUNNING,
        is_delayed=job.state in DELAYED,
        is_asked_to_stop=job.cancel_requested,
        group_path=_group_path(job),
        operation=f"rev-{job.rev}",
        error=job.error,
        traceback=failed.traceback if failed and job.error else "",
        reason=REASONS.get(job.reason, job.reason) if job.reason else None,
        events=events(job, now),
        lived=lived(job),
        attempts=rows,
        payload=show(job.payload or b"", job.content_type) if readable else None,
        payload_hidden=not may_read_payload,
        result=show(job.result, "application/json") if may_read_payload and job.result else None,
        content_type=job.content_type,
        facts=_facts(job),
        progress=job.progress,
        log=tuple(_log(log, job)),
        worker=job.worker,
        worker_path=known_worker(job.worker, workers),
        fence=job.lease.fence if job.lease else None,
        lease_s=(job.lease.expires_at - now).total_seconds() if job.lease else None,
        lease_exact=exact(job.lease.expires_at) if job.lease else "",
        tags=job.tags,
        trace_id=TraceContext(job.traceparent).trace_id if is_traceparent(job.traceparent) else None,
    )


def _group_path(job: Job) -> str | None:
    """To the jobs that failed alike."""
    if job.state is not JobState.DEAD or not job.group:
        return None
    return "/dead/jobs" + Asked(queue=job.queue, group=job.group).query()


def _log(lines: Sequence[LogLine], job: Job) -> Iterator[LogRow]:
    """The lines, with a word where another attempt begins to speak."""
    numbers = {attempt.fence: attempt.number for attempt in job.history}
    before: int | None = None
    for line in lines:
        attempt = (
            f"attempt {numbers.get(line.fence, job.attempts):,}, token {line.fence}" if line.fence != before else ""
        )
        before = line.fence
        yield LogRow(line.at, line.text, attempt)


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
        ("Created by", job.created_by or ""),
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
        ("Unique key", job.unique_key or ""),
    )
    return tuple((label, value) for label, value in facts if value)
