"""Reads job records out of Redis replies. Never raises on what it finds: a damaged record still has to be shown."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from leaseforge.jobs import Attempt, Job, JobError, JobState, Lease, LogLine, Options, Progress

Fields = dict[str, str]
_EXACT = 2**53


def pairs(flat: Sequence[bytes]) -> Fields:
    """A hash as text fields, from Redis's flat list."""
    words = [word.decode("utf-8", "replace") for word in flat]
    return dict(zip(words[::2], words[1::2], strict=False))


def instant(ms: Any) -> datetime | None:
    """Redis ms as an aware datetime; None for anything that is none."""
    if ms is None or ms == "":
        return None
    try:
        return datetime.fromtimestamp(float(ms) / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):  # not `suppress`: lists of workers have thousands of these
        return None


def whole(value: str | bytes | None) -> int:
    """A number of a record; 0 if it is unset, no number, or beyond what Redis counts exactly."""
    try:
        number = int(value or 0)
    except ValueError:
        return 0
    return number if -_EXACT < number < _EXACT else 0


def tags(text: str | bytes | None) -> tuple[str, ...]:
    """A job's tags; none if they cannot be read."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode(text, type=tuple[str, ...]) if text else ()
    return ()


def job_from(
    queue: str,
    job_id: str,
    fields: Fields,
    *,
    payload: bytes | None = None,
    result: bytes | None = None,
    history: Sequence[bytes] = (),
    score: bytes | None = None,
) -> Job:
    """A job out of its parts; `score` is its place in its state's set: a due time or a lease expiry."""
    state = JobState.DEAD
    with suppress(ValueError):
        state = JobState(fields.get("state", ""))
    attempts = tuple(_attempt(entry) for entry in history)
    due_at = instant(score.decode()) if score and state in (JobState.SCHEDULED, JobState.RETRYING) else None
    return Job(
        id=job_id,
        queue=queue,
        type=fields.get("type", "unknown"),
        state=state,
        priority=whole(fields.get("priority")),
        attempts=whole(fields.get("attempts")),
        attempts_base=whole(fields.get("attempts_base")),
        failures=whole(fields.get("failures")),
        recoveries=whole(fields.get("recoveries")),
        replays=whole(fields.get("replays")),
        releases=whole(fields.get("releases")),
        options=Options.decode(fields.get("options")),
        created_at=instant(fields.get("created_at")),
        scheduled_at=instant(fields.get("scheduled_at")),
        ready_at=instant(fields.get("ready_at")),
        due_at=due_at,
        started_at=instant(fields.get("started_at")),
        finished_at=instant(fields.get("finished_at")),
        content_type=fields.get("content_type", "application/json"),
        payload=payload,
        result=result,
        error=_error(fields, attempts),
        reason=fields.get("reason"),
        worker=fields.get("worker"),
        lease=_lease(fields, state, score),
        tags=tags(fields.get("tags")),
        traceparent=fields.get("traceparent"),
        created_by=fields.get("created_by"),
        rev=whole(fields.get("rev")),
        history=attempts,
        unique_key=fields.get("unique_key"),
        cancel_requested=fields.get("cancel_requested") == "1",
        progress=progress_of(fields.get("progress")),
        group=fields.get("fp"),
    )


def log_line(entry: bytes) -> LogLine:
    """A log line out of its stored form."""
    number: Any = 0
    at: Any = 0
    fence: Any = ""
    text: Any = ""
    with suppress(msgspec.MsgspecError, ValueError, TypeError):
        number, at, fence, text = msgspec.msgpack.decode(entry)
    return LogLine(
        number=number if isinstance(number, int) else 0,
        at=instant(at) or datetime.fromtimestamp(0, UTC),
        fence=fence_of(fence),
        text=str(text),
    )


def _lease(fields: Fields, state: JobState, score: bytes | None) -> Lease | None:
    token = fields.get("token", "")
    expires_at = instant(score.decode()) if score else None
    if state is not JobState.RUNNING or not token or expires_at is None:
        return None
    return Lease(fence_of(token), expires_at)


def _error(fields: Fields, attempts: Sequence[Attempt]) -> JobError | None:
    """The last error: in full from the history, else the head that the record holds."""
    kind = fields.get("error_kind")
    if kind is None:
        return None
    for attempt in reversed(attempts):
        if attempt.error is not None and attempt.error.kind == kind:
            return attempt.error
    return JobError(kind, fields.get("error", ""))


def progress_of(text: str | None) -> Progress | None:
    """What a handler last said of how far it is; None if it said nothing."""
    percent, _, note = (text or "").partition(" ")
    return Progress(int(percent), note) if percent.isdecimal() else None


def fence_of(token: Any) -> int:
    """The rising number of a lease's token; 0 if there is none to read."""
    with suppress(ValueError):
        return int(str(token).partition(".")[0])
    return 0


def _attempt(entry: bytes) -> Attempt:
    fields: dict[str, Any] = {}
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        decoded = msgspec.msgpack.decode(entry)
        fields = decoded if isinstance(decoded, dict) else {}
    epoch = datetime.fromtimestamp(0, UTC)
    kind = str(fields.get("k", ""))
    number = fields.get("n", 0)
    return Attempt(
        number=number if isinstance(number, int) else 0,
        outcome=str(fields.get("o", "unknown")),
        worker=str(fields.get("w", "")),
        fence=fence_of(fields.get("f", "")),
        started_at=instant(fields.get("s")) or epoch,
        ended_at=instant(fields.get("e")) or epoch,
        error=JobError(kind, str(fields.get("m", ""))) if kind else None,
        traceback=str(fields.get("t", "")),
    )
