"""The enqueue call: how jobs are written for the script, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec

from leaseforge import limits
from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, Plan, Replicated, answer, queue_keys
from leaseforge.errors import TooManyQueues
from leaseforge.jobs import Job, JobState, NewJob
from leaseforge.keys import system_key
from leaseforge.requests import JSON
from leaseforge.scripts import ENGINE

_pack = msgspec.msgpack.Encoder().encode
KNOWN_FOR_S = 30.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
StoredJob = tuple[str, str, bytes, Arg, Arg, bytes]
"""A job as the enqueue script takes it: id, type, payload, priority, delay_ms, extra."""


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of one request: created, duplicate (`id` is the first job's) or refused (key used otherwise)."""

    id: str
    queue: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of several requests for one queue, in their order, at `as_of_ms` (Redis time).

    `first`: the queue had never had a job.
    """

    first: bool
    jobs: list[Enqueued]
    as_of_ms: int


def enqueue(queue: str, jobs: Sequence[NewJob]) -> Call[Stored]:
    """Stores up to 1,000 checked jobs of one queue: each created, duplicate or refused.

    Raises ValueError beyond that: the script's time is bounded by the number of ids.
    """
    if not 0 < len(jobs) <= limits.MAX_BULK:
        raise ValueError(f"enqueue takes 1 to {limits.MAX_BULK} jobs, not {len(jobs)}")
    return _call(queue, [job_words(job) for job in jobs])


def store_jobs(queue: str, jobs: Sequence[NewJob], *, replicated: bool = False) -> Plan[Stored]:
    """Stores up to 1,000 checked jobs of one queue, all or none, and makes the queue known.

    Raises TooManyQueues, and whatever the store raises.
    """
    # First the name, then the jobs: a crash between leaves an empty queue, never hidden jobs.
    yield from register_queue(queue)
    call = enqueue(queue, jobs)
    stored = yield from (Replicated(call) if replicated else call)
    if stored.first:
        yield from register_queue(queue, anew=True)
    return stored


def as_stored(job: NewJob, as_of_ms: int) -> Job:
    """A job as it was the moment the script created it (`Stored.as_of_ms`): what a read would have answered then."""
    due_ms = as_of_ms + job.delay_ms if job.at is None else _at_ms(job.at)
    is_ready = due_ms <= as_of_ms
    # The past is now, however long ago it was: some of it cannot be written in UTC.
    now, due = (_EPOCH + timedelta(milliseconds=ms) for ms in (as_of_ms, max(due_ms, as_of_ms)))
    return Job(
        id=job.id,
        queue=job.queue,
        type=job.type,
        state=JobState.READY if is_ready else JobState.SCHEDULED,
        priority=job.priority,
        attempts=0,
        attempts_base=0,
        failures=0,
        recoveries=0,
        replays=0,
        releases=0,
        options=job.options,
        created_at=now,
        scheduled_at=None if is_ready else due,
        ready_at=now if is_ready else None,
        due_at=None if is_ready else due,
        started_at=None,
        finished_at=None,
        content_type=job.content_type,
        payload=job.payload,
        result=None,
        error=None,
        reason=None,
        worker=None,
        lease=None,
        tags=job.tags,
        traceparent=job.traceparent,
        created_by=job.created_by,
        rev=1,
        history=(),
        unique_key=job.unique_key,
    )


def enqueue_stored(queue: str, jobs: Sequence[StoredJob]) -> Call[Stored]:
    """Stores jobs that were checked and written down before: follow-ups on their way to their queue."""
    return _call(queue, jobs)


def register_queue(queue: str, *, anew: bool = False) -> Plan[None]:
    """Makes a queue known before its first job is stored. Raises TooManyQueues.

    Known ones are not named again for a while, unless `anew`: a store that lost its data lost the name too.
    """
    call: Call[Answer] = Call(
        ENGINE.load("register_queue"),
        (("queues", system_key("queues")),),
        (("most", limits.MAX_QUEUES), ("name", queue)),
        answer,
        fresh_for_s=0.0 if anew else KNOWN_FOR_S,
    )
    if (yield from call) is Answer.REFUSED:
        raise TooManyQueues(f"there are {limits.MAX_QUEUES:,} queues already; {queue} would be one more")


def _call(queue: str, jobs: Sequence[StoredJob]) -> Call[Stored]:
    def read(raw: Sequence[Any]) -> Stored:
        first, *words, as_of_ms = raw
        pairs = zip(words[::2], words[1::2], strict=True)
        enqueued = [Enqueued(job_id.decode(), queue, Answer(answer.decode())) for answer, job_id in pairs]
        return Stored(bool(first), enqueued, as_of_ms)

    keys = queue_keys(queue, "meta", "counts", "ready", "running", "scheduled", "wake")
    return Call(ENGINE.load("enqueue"), keys, (), read, [word for job in jobs for word in job])


def job_words(job: NewJob) -> StoredJob:
    """A job as the enqueue script takes it: id, type, payload, priority, delay_ms, extra."""
    return job.id, job.type, job.payload, job.priority, job.delay_ms, _extra(job)


def _extra(job: NewJob) -> bytes:
    """The fields most jobs do not set, as one msgpack map; empty if there are none."""
    extra: dict[str, Any] = {}
    if job.content_type != JSON:
        extra["content_type"] = job.content_type
    if options := job.options.encode():
        extra["options"] = options
    if job.tags:
        extra["tags"] = msgspec.json.encode(job.tags).decode()
    if job.traceparent:
        extra["traceparent"] = job.traceparent
        if job.tracestate:
            extra["tracestate"] = job.tracestate
    if job.created_by:
        extra["created_by"] = job.created_by
    if job.at is not None:
        extra["at_ms"] = _at_ms(job.at)
    if job.unique_key is not None:
        extra["unique"] = job.unique_key
        extra["unique_ttl"] = job.unique_ttl_ms
    if job.idempotency_key is not None:
        scope = f"{job.created_by or ''}\0{job.idempotency_key}"
        extra["idem"] = sha256(scope.encode()).hexdigest()
        extra["body"] = body_hash(job)
    return _pack(extra) if extra else b""


def _at_ms(at: datetime) -> int:
    """Rounded up: a job never becomes ready before the instant its producer named."""
    return -((_EPOCH - at) // timedelta(milliseconds=1))


def body_hash(job: NewJob) -> str:
    """What makes two requests of one idempotency key the same: everything but the id (hex SHA-256)."""
    parts = (
        job.type,
        job.content_type,
        job.queue,
        job.priority,
        job.delay_ms,
        job.at.timestamp() if job.at else None,
        job.options.encode(),
        job.tags,
        job.unique_key,
        job.payload,
    )
    return sha256(_pack(parts)).hexdigest()
