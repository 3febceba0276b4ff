"""A job as the API shows it."""

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

from leaseforge.jobs import Attempt, Job, LogLine, NewJob
from leaseforge_api.schemas.values import Instant, instant, instant_or_none, seconds
from leaseforge_auth.identity import Identity
from leaseforge_auth.masking import Shown, shown
from leaseforge_auth.permissions import Permission


class Error(Struct, frozen=True):
    """The class or kind of an error, and its message."""

    kind: str
    message: str


class LeaseShown(Struct, frozen=True):
    """The claim a job runs under: its fencing integer, and until when the worker holds it."""

    token: int
    expires_at: Instant


class AttemptShown(Struct, frozen=True):
    """An attempt that ended other than well: failed, timeout, crashed, released, lost or cancelled."""

    number: int
    outcome: str
    worker: str
    token: int
    started_at: Instant
    ended_at: Instant
    error: Error | None
    traceback: str


class BackoffShown(Struct, frozen=True):
    """What the producer chose for the pause before a retry; null is left to the task and the worker."""

    kind: str | None
    base_seconds: float | None
    cap_seconds: float | None


class ProgressShown(Struct, frozen=True):
    """How far the running attempt says it is."""

    percent: int
    note: str


class LogLineShown(Struct, frozen=True):
    """A line a job logged: the `number`-th of the attempt that held the fencing integer `token`."""

    number: int
    at: Instant
    token: int
    text: str


class JobShown(Struct, frozen=True):
    """A job. Numbers of attempts as in the glossary; null options are left to the task and the worker.

    `payload` is there if it is JSON, `payload_base64` if not. Values under secret-looking names are masked
    (`payload_masked`). Callers who may not read payloads get neither, nor the result.
    """

    id: str
    queue: str
    type: str
    status: str
    priority: int
    attempts: int
    failures: int
    recoveries: int
    replays: int
    releases: int
    max_attempts: int | None
    timeout_seconds: float | None
    backoff: BackoffShown | None
    created_at: Instant | None
    scheduled_at: Instant | None
    due_at: Instant | None
    started_at: Instant | None
    finished_at: Instant | None
    payload_masked: bool
    error: Error | None
    reason: str | None
    progress: ProgressShown | None
    unique_key: str | None
    cancel_requested: bool
    group: str | None
    tags: list[str]
    worker: str | None
    lease: LeaseShown | None
    traceparent: str | None
    created_by: str | None
    history: list[AttemptShown] | UnsetType = UNSET
    payload: Raw | UnsetType = UNSET
    payload_base64: str | UnsetType = UNSET
    result: Raw | UnsetType | None = UNSET
    result_base64: str | UnsetType = UNSET


def job_shown(job: Job, *, with_payload: bool, in_list: bool = False) -> JobShown:
    """A job's snapshot as answers show it. Items of lists leave out payload, result and history."""
    options = job.options
    has_backoff = (options.backoff, options.backoff_base_ms, options.backoff_cap_ms) != (None, None, None)
    return JobShown(
        id=job.id,
        queue=job.queue,
        type=job.type,
        status=job.state,
        priority=job.priority,
        attempts=job.attempts,
        failures=job.failures,
        recoveries=job.recoveries,
        replays=job.replays,
        releases=job.releases,
        max_attempts=options.max_attempts,
        timeout_seconds=seconds(options.timeout_ms),
        backoff=BackoffShown(options.backoff, seconds(options.backoff_base_ms), seconds(options.backoff_cap_ms))
        if has_backoff
        else None,
        created_at=instant_or_none(job.created_at),
        scheduled_at=instant_or_none(job.scheduled_at),
        due_at=instant_or_none(job.due_at),
        started_at=instant_or_none(job.started_at),
        finished_at=instant_or_none(job.finished_at),
        error=Error(job.error.kind, job.error.message) if job.error else None,
        reason=job.reason,
        progress=ProgressShown(job.progress.percent, job.progress.note) if job.progress else None,
        unique_key=job.unique_key,
        cancel_requested=job.cancel_requested,
        group=job.group,
        tags=list(job.tags),
        worker=job.worker,
        lease=LeaseShown(job.lease.fence, instant(job.lease.expires_at)) if job.lease else None,
        traceparent=job.traceparent,
        created_by=job.created_by,
        **({"payload_masked": False} if in_list else _contents(job, with_payload=with_payload)),
    )


def is_foreign(identity: Identity, job: Job) -> bool:
    """Whether the caller may not even know of this job: a producer knows its own."""
    return not identity.can(Permission.JOBS_READ) and job.created_by != identity.username


def shown_to(identity: Identity, job: Job) -> JobShown:
    """The job as this caller may see it: payloads need their own permission, or to be of one's own job."""
    is_own = job.created_by == identity.username
    return job_shown(job, with_payload=is_own or identity.can(Permission.PAYLOADS_READ))


def log_line_shown(line: LogLine) -> LogLineShown:
    """A log line as answers show it."""
    return LogLineShown(line.number, instant(line.at), line.fence, line.text)


def revealed_contents(job: Job) -> dict[str, Any]:
    """Payload and result of a job with nothing masked."""
    fields = {"payload": None} | json_or_base64("payload", shown(job.payload, job.content_type, reveal=True))
    return fields | {"result": None} | json_or_base64("result", shown(job.result, reveal=True))


def _contents(job: Job, *, with_payload: bool) -> dict[str, Any]:
    """The fields only a single job has."""
    fields: dict[str, Any] = {"history": [_attempt(attempt) for attempt in job.history], "payload_masked": False}
    if not with_payload:
        return fields | {"payload_masked": job.payload is not None}
    payload = shown(job.payload, job.content_type)
    fields["payload_masked"] = payload.is_masked
    fields |= json_or_base64("payload", payload)
    fields |= {"result": None} | json_or_base64("result", shown(job.result))
    return fields


def json_or_base64(name: str, content: Shown) -> dict[str, Any]:
    """The field that shows a payload or a result: as JSON, else as `<name>_base64`; none for nothing."""
    if content.json is not None:
        return {name: Raw(content.json)}
    return {f"{name}_base64": content.base64} if content.base64 is not None else {}


def _attempt(attempt: Attempt) -> AttemptShown:
    return AttemptShown(
        number=attempt.number,
        outcome=attempt.outcome,
        worker=attempt.worker,
        token=attempt.fence,
        started_at=instant(attempt.started_at),
        ended_at=instant(attempt.ended_at),
        error=Error(attempt.error.kind, attempt.error.message) if attempt.error else None,
        traceback=attempt.traceback,
    )


def gone_job_shown(asked: NewJob, job_id: str) -> JobShown:
    """What is known of a job that was stored by an earlier request and is kept no longer: what was asked for."""
    options = asked.options
    return JobShown(
        id=job_id,
        queue=asked.queue,
        type=asked.type,
        status="gone",
        priority=asked.priority,
        attempts=0,
        failures=0,
        recoveries=0,
        replays=0,
        releases=0,
        max_attempts=options.max_attempts,
        timeout_seconds=seconds(options.timeout_ms),
        backoff=None,
        created_at=None,
        scheduled_at=instant_or_none(asked.at),
        due_at=None,
        started_at=None,
        finished_at=None,
        payload_masked=False,
        error=None,
        reason=None,
        progress=None,
        unique_key=asked.unique_key,
        cancel_requested=False,
        group=None,
        tags=list(asked.tags),
        worker=None,
        lease=None,
        traceparent=asked.traceparent,
        created_by=asked.created_by,
    )
