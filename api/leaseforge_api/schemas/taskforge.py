"""Jobs as TaskForge's clients know them: its field names, its five status words."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from leaseforge import limits
from leaseforge.jobs import Job, JobState
from leaseforge_api.schemas.job import json_or_base64
from leaseforge_api.schemas.jobs import JobRequest
from leaseforge_api.schemas.values import Instant, instant_or_none
from leaseforge_auth.identity import Identity
from leaseforge_auth.masking import shown
from leaseforge_auth.permissions import Permission

DEFAULT_MAX_RETRIES = 3
STATUS: Mapping[JobState, str] = {
    JobState.SCHEDULED: "pending",
    JobState.READY: "pending",
    JobState.RUNNING: "processing",
    JobState.RETRYING: "retrying",
    JobState.COMPLETED: "completed",
    JobState.DEAD: "dead",
    JobState.CANCELLED: "dead",
}


class TaskForgeEnqueue(Struct, frozen=True):
    """A job as TaskForge takes it. `max_retries` counts executions; other fields are ignored, as they were there."""

    type: str
    payload: Raw | UnsetType = UNSET
    priority: int | None = None
    max_retries: Annotated[int, Meta(ge=1, le=limits.MAX_ATTEMPTS)] | None = None
    scheduled_at: Annotated[datetime, Meta(tz=True)] | None = None

    def job_request(self) -> JobRequest:
        """The same as this API's own request."""
        return JobRequest(
            type=self.type,
            payload=self.payload,
            priority=self.priority or 0,
            max_attempts=self.max_retries or DEFAULT_MAX_RETRIES,
            scheduled_at=self.scheduled_at,
        )


class TaskForgeJob(Struct, frozen=True, omit_defaults=True):
    """A job as TaskForge shows it; what does not apply is left out.

    `attempts` counts since the last replay. A cancelled job is `dead` with the error `cancelled`.
    """

    id: str
    type: str
    status: str
    priority: int
    max_retries: int
    attempts: int
    created_at: Instant | None = None
    scheduled_at: Instant | None = None
    started_at: Instant | None = None
    completed_at: Instant | None = None
    next_retry_at: Instant | None = None
    error: str | None = None
    payload: Raw | UnsetType = UNSET
    payload_base64: str | UnsetType = UNSET


def taskforge_job(job: Job, identity: Identity) -> TaskForgeJob:
    """The job as this caller may see it: payloads need their own permission, or to be of one's own job."""
    may_read = job.created_by == identity.username or identity.can(Permission.PAYLOADS_READ)
    payload = json_or_base64("payload", shown(job.payload, job.content_type)) if may_read else {}
    budget = job.options.max_attempts
    return TaskForgeJob(
        id=job.id,
        type=job.type,
        status=STATUS[job.state],
        priority=job.priority,
        max_retries=DEFAULT_MAX_RETRIES if budget is None else budget,
        attempts=job.attempts - job.attempts_base,
        created_at=instant_or_none(job.created_at),
        scheduled_at=instant_or_none(job.scheduled_at),
        started_at=instant_or_none(job.started_at),
        completed_at=instant_or_none(job.finished_at),
        next_retry_at=instant_or_none(job.due_at) if job.state is JobState.RETRYING else None,
        error=_error(job),
        **payload,
    )


def _error(job: Job) -> str | None:
    if job.state is JobState.CANCELLED:
        return "cancelled"
    return (job.error.message or job.error.kind) if job.error else job.reason
