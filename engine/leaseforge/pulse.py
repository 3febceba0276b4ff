"""Signs of life of a process's loops."""

import time
from collections.abc import Callable


class Pulse:
    """The last sign of life of each loop, so that a loop that died in silence can be seen from outside."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beats: dict[str, float] = {}
        self.crashes: dict[str, int] = {}

    def beat(self, loop: str) -> None:
        """A loop went round once, or waits as it should."""
        self._beats[loop] = self._clock()

    def crashed(self, loop: str) -> None:
        """A loop crashed and will be started again."""
        self.crashes[loop] = self.crashes.get(loop, 0) + 1

    def ages_s(self) -> dict[str, float]:
        """Seconds since each loop's last sign of life."""
        now = self._clock()
        return {loop: now - at for loop, at in list(self._beats.items())}
