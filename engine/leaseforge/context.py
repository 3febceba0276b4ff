"""What a handler sees of the job it runs."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from leaseforge import limits, tracing
from leaseforge.claimed import Claimed
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.jobs import Backoff, NewJob, Options
from leaseforge.requests import new_job
from leaseforge.texts import cut


class RunState(Protocol):
    """The runner of an attempt, as its handler sees it: what it knows and what it takes, from any thread."""

    @property
    def cancelled(self) -> bool:
        """See Context.cancelled."""
        ...

    @property
    def lease_at_risk(self) -> bool:
        """See Context.lease_at_risk."""
        ...

    def follow_up(self, job: NewJob) -> None:
        """Takes a checked job to be stored with the completion. Raises TooManyFollowUps, AttemptEnded."""
        ...

    def say_progress(self, percent: int, note: str) -> None:
        """Takes the newest progress, 0 to 100 percent, in place of any before it."""
        ...

    def say_line(self, line: str) -> None:
        """Takes a log line of bounded length."""
        ...


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The job an attempt belongs to, as it was when it was claimed.

    `attempt` counts executions from 1; `failures` and `recoveries` are those before this attempt, since the last
    replay. `options` are the job's own, which win over its task's. Times are aware (UTC).
    """

    id: str
    queue: str
    type: str
    priority: int
    attempt: int
    failures: int
    recoveries: int
    replays: int
    content_type: str
    tags: tuple[str, ...]
    traceparent: str | None
    created_at: datetime
    ready_at: datetime
    options: Options


class Context:
    """One attempt at one job: the handler's first argument.

    Safe to use from any thread, and nothing here waits for Redis, so that it is called the same way in both kinds of
    handlers. It stays valid after the attempt has ended, but then only its facts mean anything.
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
            attempt=claimed.attempt,
            failures=claimed.failures,
            recoveries=claimed.recoveries,
            replays=claimed.replays,
            content_type=claimed.content_type,
            tags=claimed.tags,
            traceparent=claimed.traceparent,
            created_at=_instant(claimed.created_at_ms),
            ready_at=_instant(claimed.ready_at_ms),
            options=claimed.options,
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

    def enqueue(
        self,
        type: str,
        payload: Any = None,
        *,
        queue: str | None = None,
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
    ) -> str:
        """Asks for a follow-up: a job that is stored if this attempt completes, and never otherwise. Answers its id.

        The fields are those of `leaseforge.new_job`; the queue is this job's own unless named, and its trace goes on.
        Checked at once: raises BadInput, PayloadTooLarge, TooManyFollowUps (200 follow-ups, or payloads of 4 MiB
        together), AttemptEnded. An idempotency key that turns out to be used for another job shows in this job's log.
        """
        if traceparent is None:
            carried = self._claimed.traceparent, self._claimed.tracestate
            traceparent, tracestate = tracing.current() or carried
        job = new_job(
            type,
            payload,
            queue=self._claimed.queue if queue is None else queue,
            priority=priority,
            delay_ms=delay_ms,
            at=at,
            id=id,
            idempotency_key=idempotency_key,
            max_attempts=max_attempts,
            timeout_ms=timeout_ms,
            backoff=backoff,
            backoff_base_ms=backoff_base_ms,
            backoff_cap_ms=backoff_cap_ms,
            tags=tags,
            content_type=content_type,
            traceparent=traceparent,
            created_by=created_by,
            unique_key=unique_key,
            unique_ttl_ms=unique_ttl_ms,
            tracestate=tracestate or None,
        )
        self._state.follow_up(job)
        return job.id

    def progress(self, percent: float, note: str = "") -> None:
        """Says how far the job is, 0 to 100 percent (rounded down), with a note of at most 48 bytes.

        Call it as often as you like: the newest is shown, within about a second. Raises BadInput.
        """
        given: object = percent
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 100:
            raise BadInput([FieldProblem("percent", "must be a number from 0 to 100")])
        if not isinstance(note, str):
            raise BadInput([FieldProblem("note", "must be text")])
        self._state.say_progress(int(percent), _short(note, limits.MAX_PROGRESS_NOTE_BYTES))

    def log(self, text: str) -> None:
        """Adds a line of at most 1 KiB to the job's log, shown within about a second; the last 200 are kept.

        More than 200 lines within a second: the oldest are dropped, and a line says how many. Raises BadInput.
        """
        if not isinstance(text, str):
            raise BadInput([FieldProblem("text", "must be text")])
        self._state.say_line(_short(text, limits.MAX_LOG_LINE_BYTES))


def _short(text: str, most: int) -> str:
    """`text` in at most `most` bytes, without writing out what is much longer."""
    return cut(text[: most + 1], most)


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
