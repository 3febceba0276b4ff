"""The jobs an attempt asks for, kept until it completes."""

import threading

from leaseforge.errors import AttemptEnded, TooManyFollowUps
from leaseforge.jobs import NewJob
from leaseforge.limits import MAX_FOLLOW_UP_BYTES, MAX_FOLLOW_UPS


class FollowUps:
    """Collects follow-ups of one attempt, from any thread, until they are taken for its completion.

    Bounded by what one settle may store: 200 jobs, and payloads of 4 MiB together.
    """

    __slots__ = ("_jobs", "_lock", "_size", "_taken")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: list[NewJob] = []
        self._size = 0
        self._taken = False

    def add(self, job: NewJob) -> None:
        """Takes one more, or raises TooManyFollowUps or AttemptEnded and keeps those it has."""
        with self._lock:
            if self._taken:
                raise AttemptEnded(f"the attempt has ended: {job.type!r} cannot follow it any more")
            if len(self._jobs) >= MAX_FOLLOW_UPS:
                raise TooManyFollowUps(f"an attempt asks for at most {MAX_FOLLOW_UPS} follow-ups")
            if self._size + len(job.payload) > MAX_FOLLOW_UP_BYTES:
                raise TooManyFollowUps(f"the follow-ups of an attempt hold at most {MAX_FOLLOW_UP_BYTES:,} bytes")
            self._jobs.append(job)
            self._size += len(job.payload)

    def take(self) -> tuple[NewJob, ...]:
        """All of them, in the order asked for; none can be added afterwards."""
        with self._lock:
            self._taken = True
            return tuple(self._jobs)
