"""Jobs as they are asked for over HTTP."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from litestar.params import HeaderParameter
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from leaseforge import limits
from leaseforge.errors import BadInput, FieldProblem, PayloadTooLarge
from leaseforge.jobs import Backoff, NewJob
from leaseforge.json_depth import check_depth
from leaseforge.requests import new_job
from leaseforge.trace_context import TraceContext
from leaseforge_api.schemas.values import Reason

IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=limits.MAX_KEY_BYTES,
        description="Makes a repeat of the request safe for 24 h: the first answer's job is answered again.",
    ),
]

NO_PAYLOAD = Raw(b"{}")


class BackoffRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How the pause before a retry grows; what is left out comes from the task, then from the worker's settings."""

    kind: Backoff | None = None
    base_seconds: Annotated[float, Meta(ge=0, le=limits.MAX_BACKOFF_MS / 1000)] | None = None
    cap_seconds: Annotated[float, Meta(ge=0, le=limits.MAX_BACKOFF_MS / 1000)] | None = None


DAY_S = 86_400.0


class JobRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A job to run. `payload` is any JSON and reaches the handler byte for byte; left out it is `{}`.

    `delay_seconds` counts from now, `scheduled_at` is an instant with a zone (past: at once); only one of both.
    `max_attempts` 0 means without limit. While a live job of the queue holds `unique_key`, for `unique_ttl_seconds`
    at most, this one is answered as its duplicate.
    """

    type: str
    payload: Raw | UnsetType = UNSET
    queue: str = "default"
    priority: int = 0
    max_attempts: int | None = None
    delay_seconds: Annotated[float, Meta(ge=0, le=limits.MAX_DELAY_MS / 1000)] | None = None
    scheduled_at: Annotated[datetime, Meta(tz=True)] | None = None
    timeout_seconds: Annotated[float, Meta(gt=0, le=limits.MAX_TIMEOUT_MS / 1000)] | None = None
    backoff: BackoffRequest | None = None
    unique_key: str | None = None
    unique_ttl_seconds: Annotated[float, Meta(ge=1, le=limits.MAX_UNIQUE_TTL_MS / 1000)] = DAY_S
    tags: list[str] = []


class BulkRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to 1,000 jobs. If one of them is not valid, none is stored."""

    jobs: Annotated[list[JobRequest], Meta(min_length=1, max_length=limits.MAX_BULK)]


class BulkResult(Struct, frozen=True):
    """What became of one job: created, duplicate (`id` is the first one's) or refused (`detail` says why)."""

    id: str
    outcome: str
    detail: str | None


class BulkAnswer(Struct, frozen=True):
    """The jobs' ids and outcomes, in the order they were sent."""

    ids: list[str]
    results: list[BulkResult]


class RetryRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Another payload for the job, if it is to have one, and why it is retried."""

    payload: Raw | UnsetType = UNSET
    reason: Reason | None = None


class ActionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Why it is done, for the log; may be left out."""

    reason: Reason | None = None


class RevealRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Why what is masked has to be seen."""

    reason: Reason


class Revealed(Struct, frozen=True):
    """Payload and result of a job with nothing masked: JSON, or base64 of what is none."""

    payload: Raw | UnsetType | None = UNSET
    payload_base64: str | UnsetType = UNSET
    result: Raw | UnsetType | None = UNSET
    result_base64: str | UnsetType = UNSET


# The engine's names and units, and what a caller of this API calls them.
_FIELDS: Mapping[str, str] = {
    "delay_ms": "delay_seconds",
    "at": "scheduled_at",
    "timeout_ms": "timeout_seconds",
    "backoff_base_ms": "backoff.base_seconds",
    "backoff_cap_ms": "backoff.cap_seconds",
    "idempotency_key": "Idempotency-Key",
    "unique_ttl_ms": "unique_ttl_seconds",
}


def job_from(
    request: JobRequest,
    *,
    created_by: str,
    idempotency_key: str | None = None,
    trace: TraceContext | None = None,
    place: str = "",
) -> NewJob:
    """The engine's request for this one. Raises BadInput and PayloadTooLarge in the caller's terms.

    `place` stands before field names, `jobs[3].` for the fourth job of a bulk request.
    """
    if request.delay_seconds is not None and request.scheduled_at is not None:
        raise BadInput([FieldProblem(place + "scheduled_at", "excludes delay_seconds: send one of both")])
    backoff = request.backoff or BackoffRequest()
    payload = NO_PAYLOAD if request.payload is UNSET else request.payload
    check_depth(bytes(payload), place + "payload")
    try:
        return new_job(
            request.type,
            payload,
            queue=request.queue,
            priority=request.priority,
            delay_ms=_ms(request.delay_seconds) or 0,
            at=request.scheduled_at,
            idempotency_key=idempotency_key,
            max_attempts=request.max_attempts,
            timeout_ms=_ms(request.timeout_seconds),
            backoff=backoff.kind,
            backoff_base_ms=_ms(backoff.base_seconds),
            backoff_cap_ms=_ms(backoff.cap_seconds),
            unique_key=request.unique_key,
            unique_ttl_ms=round(request.unique_ttl_seconds * 1000),
            tags=request.tags,
            traceparent=trace.traceparent if trace else None,
            tracestate=(trace.tracestate or None) if trace else None,
            created_by=created_by,
        )
    except BadInput as error:
        problems = [FieldProblem(place + _FIELDS.get(p.field, p.field), p.message) for p in error.problems]
        raise (PayloadTooLarge if isinstance(error, PayloadTooLarge) else BadInput)(problems) from error


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
