"""What a handler sees of the job it runs."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from leaseforge.exchanges import Claimed


class RunState(Protocol):
    """What the runner of an attempt knows and a handler may ask, at any moment and from any thread."""

    @property
    def cancelled(self) -> bool:
        """See Context.cancelled."""
        ...

    @property
    def lease_at_risk(self) -> bool:
        """See Context.lease_at_risk."""
        ...


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The job an attempt belongs to, as it was when it was claimed.

    `failures` and `recoveries` are those before this attempt, since the last replay. Times are aware (UTC).
    """

    id: str
    queue: str
    type: str
    priority: int
    failures: int
    recoveries: int
    replays: int
    content_type: str
    tags: tuple[str, ...]
    traceparent: str | None
    created_at: datetime
    ready_at: datetime


class Context:
    """One attempt at one job: the handler's first argument.

    Safe to read from any thread. It stays valid after the attempt has ended, but then only its facts mean anything.
    """

    __slots__ = ("_claimed", "_state")

    def __init__(self, claimed: Claimed, state: RunState) -> None:
        self._claimed = claimed
        self._state = state

    def __repr__(self) -> str:
        return f"<Context job={self.job_id} attempt={self.attempt}>"

    @property
    def job_id(self) -> str:
        """The job's id: the same in every attempt, so a key for side effects that must happen once."""
        return self._claimed.id

    @property
    def job(self) -> JobFacts:
        """What is known of the job."""
        claimed = self._claimed
        return JobFacts(
            id=claimed.id,
            queue=claimed.queue,
            type=claimed.type,
            priority=claimed.priority,
            failures=claimed.failures,
            recoveries=claimed.recoveries,
            replays=claimed.replays,
            content_type=claimed.content_type,
            tags=claimed.tags,
            traceparent=claimed.traceparent,
            created_at=_instant(claimed.created_at_ms),
            ready_at=_instant(claimed.ready_at_ms),
        )

    @property
    def payload(self) -> bytes:
        """The payload as its producer sent it, byte for byte."""
        return self._claimed.payload

    @property
    def attempt(self) -> int:
        """Which execution of the job this is, from 1. Lost leases and given-back attempts count too."""
        return self._claimed.attempt

    @property
    def fence(self) -> int:
        """Rises with every claim of the queue: a store that remembers the highest it saw can refuse a late writer."""
        return self._claimed.fence

    @property
    def cancelled(self) -> bool:
        """True once the attempt is to stop: an operator cancelled the job, it timed out, or the lease went to another.

        A coroutine is interrupted besides; a function in a thread cannot be, so a long one asks now and then.
        """
        return self._state.cancelled

    @property
    def lease_at_risk(self) -> bool:
        """True while the lease could not be renewed in time: another worker may be running this job by now."""
        return self._state.lease_at_risk


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
