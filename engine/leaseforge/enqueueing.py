"""The enqueue call: how jobs are written for the script, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec

from leaseforge import limits
from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, queue_keys
from leaseforge.jobs import NewJob
from leaseforge.requests import JSON
from leaseforge.scripts import ENGINE

_pack = msgspec.msgpack.Encoder().encode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of one request: created, duplicate (`id` is the first job's) or refused (key used otherwise)."""

    id: str
    queue: str
    answer: Answer


def enqueue(queue: str, jobs: Sequence[NewJob]) -> Call[list[Enqueued]]:
    """Stores up to 1,000 checked jobs of one queue: each created, duplicate or refused.

    Raises ValueError beyond that: the script's time is bounded by the number of ids.
    """
    if not 0 < len(jobs) <= limits.MAX_BULK:
        raise ValueError(f"enqueue takes 1 to {limits.MAX_BULK} jobs, not {len(jobs)}")
    rest: list[Arg] = []
    for job in jobs:
        rest += (job.id, job.type, job.payload, job.priority, job.delay_ms, _extra(job))

    def read(raw: Sequence[bytes]) -> list[Enqueued]:
        pairs = zip(raw[::2], raw[1::2], strict=True)
        return [Enqueued(job_id.decode(), queue, Answer(answer.decode())) for answer, job_id in pairs]

    keys = queue_keys(queue, "meta", "counts", "ready", "scheduled", "wake")
    return Call(ENGINE.load("enqueue"), keys, (), read, rest)


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
    if job.created_by:
        extra["created_by"] = job.created_by
    if job.at is not None:
        # Rounded up: a job never becomes ready before the instant its producer named.
        extra["at_ms"] = -((_EPOCH - job.at) // timedelta(milliseconds=1))
    if job.idempotency_key is not None:
        scope = f"{job.created_by or ''}\0{job.idempotency_key}"
        extra["idem"] = sha256(scope.encode()).hexdigest()
        extra["body"] = body_hash(job)
    return _pack(extra) if extra else b""


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
        job.payload,
    )
    return sha256(_pack(parts)).hexdigest()
