"""How `leaseforge dev` is told to stop: the first signal asks for order, the second for haste."""

import asyncio
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Set by signals of this process; make it inside the running loop."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.urgent = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._arrived)

    def _arrived(self) -> None:
        (self.urgent if self.requested.is_set() else self.requested).set()
