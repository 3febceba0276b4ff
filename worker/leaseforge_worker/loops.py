"""An event loop of a worker's own, and an end of it that nothing a handler does can hold up."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

_TIDY_S = 1.0


class OwnLoop:
    """A new event loop with its own threads for `asyncio.to_thread`."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._executor = ThreadPoolExecutor(thread_name_prefix="to_thread")
        self.loop.set_default_executor(self._executor)

    def close(self) -> bool:
        """Closes the loop; False if coroutines of handlers were left that go on although they were cancelled."""
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        if left:
            _, left = self.loop.run_until_complete(asyncio.wait(left, timeout=_TIDY_S))
        self._executor.shutdown(wait=False, cancel_futures=True)
        if not left:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        return not left
