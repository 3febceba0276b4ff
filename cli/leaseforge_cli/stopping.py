"""How `leaseforge dev` is told to stop: the first signal asks for order, the second for haste."""

import asyncio
import signal
from functools import partial

from leaseforge_worker.stop_signals import StopSignals

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Set by signals of this process; make it inside the running loop."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.urgent = asyncio.Event()
        self._signals = StopSignals()
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, partial(self._arrived, number))

    def _arrived(self, number: signal.Signals) -> None:
        if self._signals.ask_for_haste(number):
            self.urgent.set()
        else:
            self.requested.set()
