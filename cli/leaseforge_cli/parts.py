"""The parts of `leaseforge dev` above Redis, while they run and while they stop."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from leaseforge_cli.stopping import StopRequests
from leaseforge_cli.supervision import Child

SERVER_STOPS_WITHIN_S = 15.0
# A worker that drains needs a moment more than its drain time to release what is left and leave.
WORKER_LEAVES_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Parts:
    """A worker, a server, and how long the worker may drain (seconds)."""

    worker: Child
    server: Child
    drain_s: float
    say: Callable[[str], None]

    async def run(
        self,
        stop: StopRequests,
        *,
        load: Coroutine[object, object, None],
        besides: Sequence[Coroutine[object, object, None]],
    ) -> None:
        """Run both, the load and whatever runs besides, until a stop is requested or one of them raises."""
        try:
            async with asyncio.TaskGroup() as group:
                loading = group.create_task(load)
                others = [group.create_task(work) for work in (self.server.keep(), self.worker.keep(), *besides)]
                try:
                    await stop.requested.wait()
                    self.say("stopping: the worker finishes what it runs (Ctrl-C again: at once)")
                finally:
                    loading.cancel()
                    await self._stop(stop)
                    for task in others:
                        task.cancel()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _stop(self, stop: StopRequests) -> None:
        """In order, or at once when a second signal asks for it."""
        orderly = asyncio.create_task(self._stop_in_order())
        urgent = asyncio.create_task(stop.urgent.wait())
        await asyncio.wait((orderly, urgent), return_when=asyncio.FIRST_COMPLETED)
        urgent.cancel()
        if not orderly.done():
            self.say("stopping at once")
            self.worker.kill()
            self.server.kill()
        await orderly

    async def _stop_in_order(self) -> None:
        """The worker first, while the server can still show how it drains."""
        await self.worker.stop(within_s=self.drain_s + WORKER_LEAVES_WITHIN_S)
        await self.server.stop(within_s=SERVER_STOPS_WITHIN_S)
