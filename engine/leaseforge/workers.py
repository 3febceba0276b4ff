"""Workers as they report themselves and as operators see them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from leaseforge import limits
from leaseforge.records import instant


class WorkerState(StrEnum):
    """What a worker does with new work."""

    RUNNING = "running"
    QUIET = "quiet"
    """Claims nothing new; what runs goes on."""
    STOPPING = "stopping"
    """Drains and exits."""
    LOST = "lost"
    """Its reports stopped without a farewell; its leases run out and its jobs are recovered."""


class Command(StrEnum):
    """What operators may want of a worker."""

    QUIET = "quiet"
    """Claim nothing new."""
    RESUME = "resume"
    """Claim again after quiet."""
    STOP = "stop"
    """Drain and exit."""


class ReportedJob(msgspec.Struct, frozen=True, array_like=True):
    """A job in a worker's report. `started_ms` is Unix time by the worker's clock."""

    id: str
    queue: str
    type: str
    fence: int
    started_ms: int

    @property
    def started_at(self) -> datetime:
        """The same as a time; made when it is asked for: of thousands of jobs in reports few are looked at."""
        return instant(self.started_ms) or datetime.fromtimestamp(0, UTC)


class WorkerReport(msgspec.Struct, frozen=True):
    """What a worker says of itself at each renewal. Of what it runs, the first 100 jobs are named.

    Without another report within `ttl_ms` it counts as lost.
    """

    id: str
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    types: tuple[str, ...]
    slots: int
    state: WorkerState
    rss_bytes: int
    started_ms: int
    ttl_ms: int
    longest_renewal_gap_ms: int = 0
    running_count: int = 0
    running: tuple[ReportedJob, ...] = ()


@dataclass(frozen=True, slots=True)
class Registered:
    """The answer to a report: an operator's command ('' for none) and the live workers of each queue.

    The same command comes with each answer until a report says that `command_id` was heard.
    """

    command_id: str
    command: str
    consumers: dict[str, int]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as its last report, and the time since it, show it.

    `wanted` is what an operator told it and it has not heard yet; only a read of one worker looks for it.
    """

    id: str
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    types: tuple[str, ...]
    slots: int
    state: WorkerState
    rss_bytes: int
    started_at: datetime
    last_seen_at: datetime
    longest_renewal_gap_ms: int
    running_count: int
    running: tuple[ReportedJob, ...] = ()
    wanted: Command | None = None


def is_worker_id(text: object) -> bool:
    """Whether `text` could be a worker's id; whatever could not is no worker's."""
    if not isinstance(text, str) or not text:
        return False
    try:
        return len(text.encode()) <= limits.MAX_KEY_BYTES
    except UnicodeEncodeError:
        return False
