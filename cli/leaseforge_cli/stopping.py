"""How `leaseforge dev` is told to stop: the first signal asks for order, the second for haste."""

import asyncio
import signal
from functools import partial

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ECHO_S = 0.5
"""A signal sent to the process group arrives twice when make, above us, passes it on too."""


class StopRequests:
    """Set by signals of this process; make it inside the running loop."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.urgent = asyncio.Event()
        self._first: tuple[signal.Signals, float] | None = None
        self._loop = asyncio.get_running_loop()
        for number in SIGNALS:
            self._loop.add_signal_handler(number, partial(self._arrived, number))

    def _arrived(self, number: signal.Signals) -> None:
        if self._first is None:
            self._first = (number, self._loop.time())
            self.requested.set()
        elif number is not self._first[0] or self._loop.time() - self._first[1] > ECHO_S:
            self.urgent.set()
