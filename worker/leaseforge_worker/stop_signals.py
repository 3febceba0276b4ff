"""How a process is told to stop: the first signal asks for order, a second one for haste."""

import time

from leaseforge_worker.held import Clock

ECHO_S = 0.5
"""A signal sent to a whole group arrives twice when a program above us (make, uv, an init) passes it on too."""


class StopSignals:
    """Tells a second signal from an echo of the first. Usable in signal handlers, which interrupt each other."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._arrived: dict[str, tuple[int, float]] = {}

    def ask_for_haste(self, number: int) -> bool:
        """Whether this signal asks to end at once: it is not the first, nor the first again within half a second."""
        arrival = (number, self._clock())
        first = self._arrived.setdefault("first", arrival)  # one indivisible step
        if first is arrival:
            return False
        return number != first[0] or arrival[1] - first[1] > ECHO_S
