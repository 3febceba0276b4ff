"""Tells a loop of this process that there is something to do now, so that it need not look all the time."""

import asyncio


class Bell:
    """Rung by whoever makes work, heard by the one loop that does it; a ring while it works is heard afterwards."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """There is something to do."""
        self._rung.set()

    async def wait(self, stop: asyncio.Event, timeout_s: float) -> None:
        """Returns when it rang, when `stop` is set, or when the time is over."""
        waiting = [asyncio.ensure_future(event.wait()) for event in (self._rung, stop)]
        try:
            await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()
            self._rung.clear()
