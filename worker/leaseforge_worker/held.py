"""Jobs in this worker's hands, from the claim until their settlement is committed."""

import asyncio
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from leaseforge.claimed import Claimed
from leaseforge.errors import AttemptEnded
from leaseforge.exchanges import Settlement
from leaseforge.jobs import NewJob
from leaseforge.policies import Policy
from leaseforge_worker.follow_ups import FollowUps
from leaseforge_worker.words import Words

if TYPE_CHECKING:
    from leaseforge_worker.job_traces import JobTrace

Clock = Callable[[], float]
Key = tuple[str, str]
"""(id, token): the same job claimed twice is held twice, and the two are never mixed up."""


class Stop(StrEnum):
    """Why an attempt is ended before its handler is done."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    """An operator cancelled the job."""
    FENCED = "fenced"
    """Another claim has the job; nothing this attempt says counts any more."""
    RELEASED = "released"
    """The worker stops and gives the job back uncharged."""


class Held:
    """One claimed job. Written by the event loop, and `confirmed_at` by the renewal thread too.

    `confirmed_at` is the local monotonic time just before the last request that Redis answered
    with "this lease is yours": the lease lasts at least `lease_s` from there.
    """

    # Defaults stand in the class: most jobs never change most of them, and thousands are made a second.
    started_at = 0.0
    deadline = 0.0
    entered = False
    """Whether a coroutine handler took its first step."""
    isolated = False
    """Whether it runs in a child process."""
    ended = False
    abandoned = False
    thread_done = False
    stop: Stop | None = None
    task: asyncio.Task[None] | None = None
    policy: Policy | None = None
    settlement: Settlement | None = None
    follow_ups: FollowUps | None = None
    words: Words | None = None
    trace: "JobTrace | None" = None
    """Its spans, where traces are recorded."""

    def __init__(self, claimed: Claimed, *, confirmed_at: float, lease_s: float, clock: Clock = time.monotonic) -> None:
        self.claimed = claimed
        self.key: Key = (claimed.id, claimed.token)
        self.confirmed_at = confirmed_at
        self.waiting_since = confirmed_at
        self.lease_s = lease_s
        self.clock = clock

    @property
    def facts(self) -> dict[str, str]:
        """What every log line about the job says: which one it is, and its trace if that is recorded."""
        claimed = self.claimed
        facts = {"job_id": claimed.id, "type": claimed.type, "queue": claimed.queue}
        return facts if self.trace is None else facts | self.trace.facts

    @property
    def cancelled(self) -> bool:
        """Whether the handler has been asked to stop."""
        return self.stop is not None

    @property
    def lease_at_risk(self) -> bool:
        """Whether the lease may be over, as far as this process can know."""
        return self.clock() - self.confirmed_at >= self.lease_s

    @property
    def needs_renewal_first(self) -> bool:
        """Whether half the lease went by since it was last confirmed: too long ago to start on it."""
        return self.clock() - self.confirmed_at > self.lease_s / 2

    @property
    def has_unsent_words(self) -> bool:
        """Whether the handler said something that Redis has not confirmed yet."""
        return self.words is not None and self.words.unsent

    def follow_up(self, job: NewJob) -> None:
        """See RunState. Most attempts ask for nothing and say nothing: what collects it is made at the first call."""
        # One indivisible step: threads of one handler may be first together, and must find the same object.
        follow_ups: FollowUps = self.follow_ups or self.__dict__.setdefault("follow_ups", FollowUps())
        if self.ended:
            raise AttemptEnded(f"the attempt has ended: {job.type!r} cannot follow it any more")
        follow_ups.add(job)

    def say_progress(self, percent: int, note: str) -> None:
        """See RunState."""
        self._words().progress(percent, note)

    def say_line(self, line: str) -> None:
        """See RunState."""
        self._words().line(line)

    def _words(self) -> Words:
        words: Words = self.words or self.__dict__.setdefault("words", Words())
        return words


class HeldJobs:
    """All held jobs by queue. The event loop changes it, the renewal thread reads snapshots."""

    def __init__(self) -> None:
        self._queues: dict[str, dict[Key, Held]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Held]:
        for jobs in list(self._queues.values()):
            yield from list(jobs.values())

    def add(self, held: Held) -> bool:
        """Takes a job in; False if it is held already under this very token (an adopted claim)."""
        jobs = self._queues.setdefault(held.claimed.queue, {})
        if held.key in jobs:
            return False
        jobs[held.key] = held
        self._count += 1
        return True

    def discard(self, held: Held) -> None:
        """Lets a job go: its settlement is committed, or its lease is lost."""
        if self._queues.get(held.claimed.queue, {}).pop(held.key, None) is not None:
            self._count -= 1

    def queues(self) -> list[str]:
        """The queues of which something may be held."""
        return list(self._queues)

    def of(self, queue: str) -> list[Held]:
        """A snapshot of what is held of one queue; safe from any thread (one atomic copy of the values)."""
        jobs = self._queues.get(queue)
        return list(jobs.values()) if jobs else []
