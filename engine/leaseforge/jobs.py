"""Jobs as values: what a producer asks for, and what the store knows of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec


class JobState(StrEnum):
    """Where a job is. At every moment it is in exactly one place that matches its state."""

    SCHEDULED = "scheduled"
    """Waits for the time its producer chose."""
    READY = "ready"
    """Can be claimed."""
    RUNNING = "running"
    """Claimed under a lease."""
    RETRYING = "retrying"
    """Waits out its backoff after a failure, a crash or a lost lease."""
    COMPLETED = "completed"
    DEAD = "dead"
    """Failed for good; kept until an operator retries or deletes it, or it is trimmed."""
    CANCELLED = "cancelled"


class Backoff(StrEnum):
    """How the pause before a retry grows: by nothing, or doubled each time."""

    FIXED = "fixed"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class Options:
    """How a job is to be run. None leaves it to the task, then to the product's defaults.

    `max_attempts` 0 means without limit. Times are in milliseconds.
    """

    max_attempts: int | None = None
    timeout_ms: int | None = None
    backoff: Backoff | None = None
    backoff_base_ms: int | None = None
    backoff_cap_ms: int | None = None

    def encode(self) -> str:
        """The set options as compact JSON, '' if none is set; the form the record keeps."""
        given = {short: value for short, name in _OPTION_NAMES.items() if (value := getattr(self, name)) is not None}
        return msgspec.json.encode(given).decode() if given else ""

    @classmethod
    def decode(cls, text: str | bytes | None) -> "Options":
        """Reads what `encode` wrote; whatever cannot be read counts as unset."""
        if not text:
            return _NO_OPTIONS
        try:
            given = msgspec.json.decode(text, type=dict[str, int | str])
            values = {_OPTION_NAMES[short]: value for short, value in given.items() if short in _OPTION_NAMES}
            if "backoff" in values:
                values["backoff"] = Backoff(str(values["backoff"]))
            return msgspec.convert(values, cls)
        except (msgspec.MsgspecError, ValueError):
            return _NO_OPTIONS


_OPTION_NAMES: Mapping[str, str] = {
    "m": "max_attempts",
    "t": "timeout_ms",
    "b": "backoff",
    "bb": "backoff_base_ms",
    "bc": "backoff_cap_ms",
}
_NO_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class NewJob:
    """What a producer asks for. Build it with `leaseforge.requests.new_job`, which checks every field.

    `payload` is opaque bytes: it reaches the handler byte for byte. `id` (UUIDv4) makes a repeated
    request safe while the job is kept, `idempotency_key` for 24 h, per queue and creator.
    `delay_ms` counts from the moment Redis has the job; `at` is an instant, in the past = at once.
    While a live job of the queue holds `unique_key` (for `unique_ttl_ms` at most) no other is stored.
    """

    id: str
    type: str
    payload: bytes
    content_type: str = "application/json"
    queue: str = "default"
    priority: int = 0
    delay_ms: int = 0
    at: datetime | None = None
    idempotency_key: str | None = None
    options: Options = _NO_OPTIONS
    tags: tuple[str, ...] = ()
    traceparent: str | None = None
    created_by: str | None = None
    unique_key: str | None = None
    unique_ttl_ms: int = 86_400_000
    tracestate: str | None = None


@dataclass(frozen=True, slots=True)
class JobError:
    """Why an attempt failed: the error's class or kind, and its message (cut at 1 KiB)."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that ended other than well: failed, timeout, crashed, released, lost or cancelled."""

    number: int
    outcome: str
    worker: str
    fence: int
    started_at: datetime
    ended_at: datetime
    error: JobError | None
    traceback: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running job says it is."""

    percent: int
    note: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line a job logged. `number` counts from 1 within its attempt, whose fencing integer is `fence`."""

    number: int
    at: datetime
    fence: int
    text: str


@dataclass(frozen=True, slots=True)
class DeadGroup:
    """Dead jobs of one queue that failed alike: same type, same kind of error, same normalised message."""

    queue: str
    key: str
    type: str
    kind: str
    message: str
    size: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Lease:
    """The time-limited right of one worker to run a job. `fence` rises with every claim of the queue."""

    fence: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the store knew it at one instant.

    `attempts` counts claims and never goes back (`attempts_base`: its value at the last replay);
    `failures` counts errors and timeouts, `recoveries` lost leases and crashes, both since the last replay;
    `releases` counts attempts given back uncharged. `due_at` is when a scheduled or retrying job
    becomes ready. `group` is the dead group it is in. `rev` rises with every change. In lists `payload`,
    `result` and `history` are left out.
    """

    id: str
    queue: str
    type: str
    state: JobState
    priority: int
    attempts: int
    attempts_base: int
    failures: int
    recoveries: int
    replays: int
    releases: int
    options: Options
    created_at: datetime | None
    scheduled_at: datetime | None
    ready_at: datetime | None
    due_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    content_type: str
    payload: bytes | None
    result: bytes | None
    error: JobError | None
    reason: str | None
    worker: str | None
    lease: Lease | None
    tags: tuple[str, ...]
    traceparent: str | None
    created_by: str | None
    rev: int
    history: tuple[Attempt, ...]
    unique_key: str | None = None
    cancel_requested: bool = False
    progress: "Progress | None" = None
    group: str | None = None
