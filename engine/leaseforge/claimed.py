"""A job in a worker's hands, and how it is read from what a claim answers."""

from collections.abc import Sequence
from typing import Any

import msgspec

from leaseforge.jobs import Options
from leaseforge.records import tags, whole

_NUMBERS = frozenset({b"failures", b"recoveries", b"replays", b"priority"})
_NO_OPTIONS = Options.decode(None)
_JSON = "application/json"
_MOST = 7
"""So many columns every job has; then come names and values of what few have."""
_decode_tags = msgspec.json.Decoder(tuple[str, ...]).decode


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """A job in a worker's hands. `token` proves the claim, `fence` is its integer part for handlers.

    `attempt` counts from 1 over the job's life; times are Redis time in ms.
    """

    id: str
    queue: str
    token: str
    fence: int
    type: str
    payload: bytes
    content_type: str
    attempt: int
    failures: int
    recoveries: int
    replays: int
    priority: int
    options: Options
    created_at_ms: int
    ready_at_ms: int
    tags: tuple[str, ...]
    traceparent: str | None
    tracestate: str | None = None


def read_claimed(queue: str, row: Sequence[Any]) -> Claimed:
    """One job of a claim's reply. A damaged field counts as unset: it must not keep the whole batch from its worker."""
    try:
        return _read(queue, row)
    except (ValueError, msgspec.MsgspecError):
        return _read(queue, _mended(row))


def _mended(row: Sequence[Any]) -> list[Any]:
    mended = list(row)
    mended[2] = whole(row[2])
    for at in range(_MOST, len(row), 2):
        name, value = row[at], row[at + 1]
        if name in _NUMBERS:
            mended[at + 1] = whole(value)
        elif name == b"tags":
            mended[at + 1] = msgspec.json.encode(tags(value))
        elif name in (b"traceparent", b"tracestate"):
            mended[at + 1] = value.decode(errors="replace").encode()
    return mended


def _read(queue: str, row: Sequence[Any]) -> Claimed:
    token = row[1].decode()
    fence = int(token[: token.index(".")])
    job_id = row[0].decode("utf-8", "replace")
    job_type = row[4].decode("utf-8", "replace") if row[4] else ""
    attempt, created_at_ms, ready_at_ms = int(row[2]), whole(row[5]), whole(row[6])
    if len(row) == _MOST:
        return Claimed(
            job_id,
            queue,
            token,
            fence,
            job_type,
            row[3],
            _JSON,
            attempt,
            0,
            0,
            0,
            0,
            _NO_OPTIONS,
            created_at_ms,
            ready_at_ms,
            (),
            None,
        )
    few = {row[at]: row[at + 1] for at in range(_MOST, len(row), 2)}
    content_type, labels = few.get(b"content_type"), few.get(b"tags")
    traceparent, tracestate = few.get(b"traceparent"), few.get(b"tracestate")
    return Claimed(
        id=job_id,
        queue=queue,
        token=token,
        fence=fence,
        type=job_type,
        payload=row[3],
        content_type=content_type.decode("utf-8", "replace") if content_type else _JSON,
        attempt=attempt,
        failures=int(few.get(b"failures") or 0),
        recoveries=int(few.get(b"recoveries") or 0),
        replays=int(few.get(b"replays") or 0),
        priority=int(few.get(b"priority") or 0),
        options=Options.decode(few.get(b"options")),
        created_at_ms=created_at_ms,
        ready_at_ms=ready_at_ms,
        tags=_decode_tags(labels) if labels else (),
        traceparent=traceparent.decode() if traceparent else None,
        tracestate=tracestate.decode() if tracestate else None,
    )
