"""Checks what producers ask for, before anything is sent: each rule in one place, all problems at once."""

import math
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from leaseforge import limits
from leaseforge.errors import BadInput, FieldProblem, PayloadTooLarge
from leaseforge.jobs import Backoff, NewJob, Options
from leaseforge.queues import queue_name_problem
from leaseforge.texts import unseen
from leaseforge.trace_context import is_traceparent, is_tracestate

JSON = "application/json"
BYTES = "application/octet-stream"

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def new_job(
    type: str,
    payload: Any = None,
    *,
    queue: str = "default",
    priority: int = 0,
    delay_ms: int = 0,
    at: datetime | None = None,
    id: str | None = None,
    idempotency_key: str | None = None,
    max_attempts: int | None = None,
    timeout_ms: int | None = None,
    backoff: Backoff | str | None = None,
    backoff_base_ms: int | None = None,
    backoff_cap_ms: int | None = None,
    tags: tuple[str, ...] | list[str] = (),
    content_type: str | None = None,
    traceparent: str | None = None,
    created_by: str | None = None,
    unique_key: str | None = None,
    unique_ttl_ms: int = 86_400_000,
    tracestate: str | None = None,
) -> NewJob:
    """Builds a request to run the task `type` and checks it.

    Bytes travel as they are (application/octet-stream unless said otherwise), anything else as
    JSON. Raises BadInput naming every wrong field, or PayloadTooLarge.
    """
    is_bytes = isinstance(payload, bytes | bytearray | memoryview | msgspec.Raw)
    body = bytes(payload) if is_bytes else _json(payload)
    job = NewJob(
        id=str(uuid.uuid4()) if id is None else id,
        type=type,
        payload=body,
        content_type=content_type or (BYTES if isinstance(payload, bytes | bytearray | memoryview) else JSON),
        queue=queue,
        priority=priority,
        delay_ms=delay_ms,
        at=at,
        idempotency_key=idempotency_key,
        options=Options(max_attempts, timeout_ms, _backoff(backoff), backoff_base_ms, backoff_cap_ms),
        tags=_listed(tags),
        traceparent=traceparent,
        created_by=created_by,
        unique_key=unique_key,
        unique_ttl_ms=unique_ttl_ms,
        tracestate=tracestate,
    )
    return checked(job)


def checked(job: NewJob) -> NewJob:
    """Returns a request that breaks no rule as it is; raises BadInput or PayloadTooLarge otherwise."""
    if isinstance(job.payload, bytes):
        _check_size(job.payload)
    problems = list(_problems(job))
    if problems:
        raise BadInput(problems)
    return job


def check_operation(operation: str) -> None:
    """Refuses an operation's id that a record cannot keep; raises BadInput."""
    problems = list(_name("operation", operation, limits.MAX_OPERATION_BYTES))
    if problems:
        raise BadInput(problems)


def check_replay(operation: str, payload: bytes | None) -> None:
    """Refuses what a record cannot keep of a replay; raises BadInput or PayloadTooLarge."""
    check_operation(operation)
    if payload is not None:
        _check_size(payload)


def is_job_id(text: object) -> bool:
    """Whether `text` has the form of a job id: a UUID in lower-case hex with hyphens."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def _json(payload: Any) -> bytes:
    try:
        body = msgspec.json.encode(payload)
        # JSON has no word for these, and the encoder writes null: the handler would get another value.
        if b"null" in body and _holds_no_number(msgspec.to_builtins(payload)):
            raise ValueError("it holds a number that is infinite or none")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadInput([FieldProblem("payload", f"cannot be written as JSON: {error}")]) from error
    return body


def _holds_no_number(value: Any) -> bool:
    """Whether a tree of plain values holds a NaN or an infinity anywhere."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return True
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            left += value
    return False


def _listed(tags: object) -> Any:
    """A list as the tuple a request holds. Anything else, a lone text too, is left for the check to refuse."""
    return tuple(tags) if isinstance(tags, list) else tags


def _check_size(payload: bytes) -> None:
    if len(payload) > limits.MAX_PAYLOAD_BYTES:
        size = f"{len(payload):,} bytes; at most {limits.MAX_PAYLOAD_BYTES:,} are kept"
        raise PayloadTooLarge([FieldProblem("payload", size)])


def _backoff(kind: Backoff | str | None) -> Backoff | None:
    try:
        return None if kind is None else Backoff(kind)
    except ValueError:
        raise BadInput([FieldProblem("backoff", f"must be one of {', '.join(Backoff)}")]) from None


def _problems(job: NewJob) -> Iterator[FieldProblem]:
    if not is_job_id(job.id):
        yield FieldProblem("id", "must be a UUID in lower-case hex with hyphens")
    if message := queue_name_problem(job.queue):
        yield FieldProblem("queue", message)
    if not isinstance(job.payload, bytes):
        yield FieldProblem("payload", "must be bytes")
    yield from _name("type", job.type, limits.MAX_TYPE_BYTES)
    yield from _name("content_type", job.content_type, limits.MAX_CONTENT_TYPE_BYTES)
    yield from _whole("priority", job.priority, limits.MIN_PRIORITY, limits.MAX_PRIORITY)
    yield from _whole("delay_ms", job.delay_ms, 0, limits.MAX_DELAY_MS)
    if job.at is not None:
        yield from _instant(job)
    if job.idempotency_key is not None:
        yield from _key("idempotency_key", job.idempotency_key, limits.MAX_KEY_BYTES)
    if job.unique_key is not None:
        yield from _name("unique_key", job.unique_key, limits.MAX_KEY_BYTES)
        yield from _whole("unique_ttl_ms", job.unique_ttl_ms, 1000, limits.MAX_UNIQUE_TTL_MS)
    if job.created_by is not None:
        yield from _name("created_by", job.created_by, limits.MAX_KEY_BYTES)
    if job.traceparent is not None and not is_traceparent(job.traceparent):
        yield FieldProblem("traceparent", "must be a W3C traceparent")
    if job.tracestate is not None and not is_tracestate(job.tracestate):
        yield FieldProblem("tracestate", f"must be a W3C tracestate of at most {limits.MAX_TRACESTATE_BYTES} bytes")
    yield from _options(job.options)
    if not isinstance(job.tags, tuple):
        yield FieldProblem("tags", "must be a list of texts")
        return
    if len(job.tags) > limits.MAX_TAGS:
        yield FieldProblem("tags", f"must be at most {limits.MAX_TAGS}")
    for tag in job.tags[: limits.MAX_TAGS]:
        yield from _name("tags", tag, limits.MAX_TAG_BYTES)


def _options(options: Options) -> Iterator[FieldProblem]:
    bounds = (
        ("max_attempts", options.max_attempts, 0, limits.MAX_ATTEMPTS),
        ("timeout_ms", options.timeout_ms, 1, limits.MAX_TIMEOUT_MS),
        ("backoff_base_ms", options.backoff_base_ms, 0, limits.MAX_BACKOFF_MS),
        ("backoff_cap_ms", options.backoff_cap_ms, 0, limits.MAX_BACKOFF_MS),
    )
    if options.backoff is not None and not isinstance(options.backoff, Backoff):
        yield FieldProblem("backoff", f"must be one of {', '.join(Backoff)}")
    for name, value, low, high in bounds:
        if value is not None:
            yield from _whole(name, value, low, high)


def _instant(job: NewJob) -> Iterator[FieldProblem]:
    at = job.at
    if not isinstance(at, datetime) or at.tzinfo is None:
        yield FieldProblem("at", "must be a time with a zone")
        return
    if job.delay_ms:
        yield FieldProblem("at", "excludes a delay")
    if (at - datetime.now(UTC)).total_seconds() * 1000 > limits.MAX_DELAY_MS:
        yield FieldProblem("at", "must be within 10 years")


def _whole(field: str, value: object, low: int, high: int) -> Iterator[FieldProblem]:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        yield FieldProblem(field, f"must be a whole number from {low:,} to {high:,}")


def _name(field: str, value: object, most: int) -> Iterator[FieldProblem]:
    """Of what operators read and decide by: nothing in it may be hidden from them."""
    problems = list(_text(field, value, most))
    yield from problems
    if not problems and (sign := unseen(str(value))):
        yield FieldProblem(field, f"must not hold U+{ord(sign):04X}: names are of characters that can be seen")


def _key(field: str, value: object, most: int) -> Iterator[FieldProblem]:
    """Of what only programs compare."""
    yield from _text(field, value, most)
    if isinstance(value, str) and _CONTROL.search(value):
        yield FieldProblem(field, "must not hold control characters")


def _text(field: str, value: object, most: int) -> Iterator[FieldProblem]:
    if not isinstance(value, str) or not value:
        yield FieldProblem(field, "must be text and not empty")
        return
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        yield FieldProblem(field, "must be valid Unicode")
        return
    if size > most:
        yield FieldProblem(field, f"must be at most {most} bytes")
