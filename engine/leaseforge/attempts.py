"""The calls of a running attempt: progress and log lines, both only under its token."""

from collections.abc import Sequence

from leaseforge import limits
from leaseforge.answers import Answer
from leaseforge.calls import Call, answer, queue_keys
from leaseforge.scripts import ENGINE
from leaseforge.texts import cut


def progress(queue: str, job_id: str, token: str, *, percent: int, note: str = "") -> Call[Answer]:
    """Says how far a running job is (0 to 100): ok, cancelled (the handler is to stop) or fenced."""
    if not 0 <= percent <= 100:
        raise ValueError(f"progress is from 0 to 100 percent, not {percent}")
    word = f"{percent} {cut(note, limits.MAX_PROGRESS_NOTE_BYTES)}".strip()
    return Call(
        ENGINE.load("progress"),
        queue_keys(queue, "counts"),
        (("id", job_id), ("token", token), ("progress", word)),
        answer,
    )


def log(queue: str, job_id: str, token: str, *, first: int, lines: Sequence[str]) -> Call[Answer]:
    """Adds lines to a running job's log, numbered within the attempt from `first` (1 at its begin).

    The same numbers again add nothing. ok, cancelled (the handler is to stop) or fenced.
    """
    if not 0 < len(lines) <= limits.MAX_LOG_LINES or first < 1:
        raise ValueError(f"a call logs 1 to {limits.MAX_LOG_LINES} lines")
    return Call(
        ENGINE.load("log"),
        queue_keys(queue, "counts"),
        (("id", job_id), ("token", token), ("first", first)),
        answer,
        [cut(line, limits.MAX_LOG_LINE_BYTES) for line in lines],
    )
