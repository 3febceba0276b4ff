"""Whether this worker can reach Redis, as its own calls experience it."""

import threading
import time

import structlog

from leaseforge import events
from leaseforge_worker.held import Clock

log = structlog.get_logger()


class Link:
    """The worker's contact with Redis, told by every loop. Safe to use from any thread.

    The worker is degraded while any of its parts fails to reach Redis; it logs the change, not every failure.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failing: dict[str, float] = {}
        self._last_contact = self._last_asked = clock()

    @property
    def degraded(self) -> bool:
        """Whether some part of the worker cannot reach Redis now."""
        return bool(self._failing)

    @property
    def silence_s(self) -> float:
        """Seconds since Redis last answered anything."""
        return self._clock() - self._last_contact

    @property
    def since_asked_s(self) -> float:
        """Seconds since a claim or a wait for work was answered, or was not needed."""
        return self._clock() - self._last_asked

    def asked(self) -> None:
        """A claim or a wait for work was answered, or the worker is full and needs none."""
        self._last_asked = self._clock()

    def worked(self, part: str) -> None:
        """A part of the worker got an answer."""
        self._last_contact = self._clock()
        if part not in self._failing:
            return
        with self._lock:
            since = self._failing.pop(part, None)
            healed = since is not None and not self._failing
        if healed and since is not None:
            log.warning(events.REDIS_BACK, part=part, away_s=round(self._clock() - since, 3))

    def failed(self, part: str, error: Exception) -> None:
        """A part of the worker got none; it tries again by itself."""
        with self._lock:
            first = not self._failing
            self._failing.setdefault(part, self._clock())
        if first:
            log.warning(events.REDIS_LOST, part=part, error=str(error))

    def forget(self, part: str) -> None:
        """A part ended; whatever failed in it says nothing any more."""
        with self._lock:
            self._failing.pop(part, None)
