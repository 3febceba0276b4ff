"""How fast a bulk operation goes, and when it stops by itself. Times are seconds of a clock that only goes forward."""

CHUNK = 50
"""Jobs taken in one call at most: 2 ms of Redis' time, in which it serves nobody else."""
REST = 2.0
"""So many times as long as the last call took is waited before the next one: a bulk operation has a third of Redis."""
MOST_REST_S = 0.1
LONG_S = 0.01
"""A call that took longer is followed by smaller ones."""
SAVED_UP_S = 0.1
"""Time a runner that came late may make up for."""
ENOUGH = 20
"""Outcomes without which nothing is concluded."""
RECENT = 200
"""Outcomes beyond which older ones count half."""


class Pace:
    """At most `rate` jobs a second: over any stretch of time, one chunk and a tenth of a second's worth apart."""

    def __init__(self, rate: int, now: float) -> None:
        self._rate = rate
        self._next = now

    @property
    def chunk(self) -> int:
        """Jobs to be taken at a time."""
        return max(1, min(CHUNK, self._rate // 20))

    def wait_s(self, now: float) -> float:
        """Seconds until the next chunk may be taken."""
        return max(0.0, self._next - now)

    def took(self, jobs: int, now: float) -> None:
        """Jobs were taken, whatever came of them."""
        self._next = max(self._next, now - SAVED_UP_S) + jobs / self._rate


class Breath:
    """Leaves Redis to others between two calls, the longer the slower it answers; and asks it for less at a time then.

    What a call took is seen from here: it has in it how long it waited for others.
    """

    def __init__(self, chunk: int = CHUNK) -> None:
        self._most = chunk
        self._chunk = chunk
        self._free_at = 0.0

    @property
    def chunk(self) -> int:
        """Jobs a call may be about."""
        return self._chunk

    def wait_s(self, now: float) -> float:
        """Seconds until the next call may be sent."""
        return max(0.0, self._free_at - now)

    def took(self, seconds: float, now: float) -> None:
        """A call was answered just now."""
        self._free_at = now + min(MOST_REST_S, REST * seconds)
        if seconds > LONG_S:
            self._chunk = max(self._most // 10, self._chunk // 2)
        else:
            self._chunk = min(self._most, self._chunk + self._most // 10)


class FailureWatch:
    """Of the jobs that were let run once more: the share of the recent outcomes that are failures.

    `well` and `again` are totals of outcomes that are known already and do not count here.
    """

    def __init__(self, limit: float | None, *, well: int = 0, again: int = 0) -> None:
        self._limit = limit
        self._seen = (well, again)
        self._well = 0.0
        self._again = 0.0

    @property
    def is_on(self) -> bool:
        """Whether anybody wants to know."""
        return self._limit is not None

    def saw(self, well: int, again: int) -> float | None:
        """Takes in how many went well and how many failed again in all; the share if it is too large, else None."""
        self._well += well - self._seen[0]
        self._again += again - self._seen[1]
        self._seen = (well, again)
        seen = self._well + self._again
        share = self._again / seen if seen else 0.0
        if seen > RECENT:
            self._well /= 2
            self._again /= 2
        return share if self._limit is not None and seen >= ENOUGH and share > self._limit else None
