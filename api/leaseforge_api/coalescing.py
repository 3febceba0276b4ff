"""Enqueueing over HTTP: requests that arrive together go to Redis together, each with an answer of its own.

No timer: a call leaves as soon as the one before it is back, with whatever has arrived meanwhile. A lone request waits
for nobody; under load the calls grow by themselves, and Redis is asked less often.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass

from leaseforge import reads, tracing
from leaseforge.answers import Answer
from leaseforge.enqueueing import Enqueued, Stored, as_stored, store_jobs
from leaseforge.errors import IdempotencyConflict, ScriptFault, StoreUnavailable
from leaseforge.jobs import Job, NewJob
from leaseforge.store import Store
from leaseforge_api.errors import TooBusy

MAX_JOBS = 200
MAX_BYTES = 4 * 1024 * 1024
"""What one call carries at most, counting payloads: Redis serves nobody else while it takes them in."""
MAX_WAITING = 4_000
MAX_WAITING_BYTES = 64 * 1024 * 1024
"""What may wait in this process, over all queues; more is refused, for memory's sake."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a request led to: which job it is, whether this request made it, and how it is (None: kept no longer).

    A job that was just made is told as it was made, whatever a worker has done to it since.
    """

    id: str
    queue: str
    is_new: bool
    job: Job | None


@dataclass(frozen=True, slots=True)
class _Request:
    job: NewJob
    answer: "asyncio.Future[tuple[Enqueued, int]]"


class Coalescing:
    """Takes in the jobs of one process' requests, a line for each queue with one call under way at a time.

    Jobs of one queue keep the order they were handed in. Whoever is cancelled leaves the line; a job that is on its way
    then is stored all the same.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tasks: asyncio.TaskGroup | None = None
        self._lines: dict[str, deque[_Request]] = {}
        self._jobs = 0
        self._bytes = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Takes in jobs until the block is left, which waits for those that were taken in."""
        async with asyncio.TaskGroup() as self._tasks:
            try:
                yield
            finally:
                self._tasks = None

    async def enqueue(self, job: NewJob) -> Accepted:
        """Stores one job that was checked.

        Raises IdempotencyConflict, TooManyQueues, StoreFull, StoreUnavailable (outcome unknown, safe to repeat), and
        TooBusy if too much waits here already.
        """
        with tracing.enqueueing([job]) as call:
            [job] = call.jobs
            enqueued, as_of_ms = await self._answer(job)
            call.stored([enqueued])
        if enqueued.answer is Answer.REFUSED:
            raise IdempotencyConflict(job.idempotency_key or "", enqueued.id)
        if enqueued.answer is Answer.CREATED:
            return Accepted(enqueued.id, enqueued.queue, True, as_stored(job, as_of_ms))
        first = await self._store.run(reads.job_call(enqueued.queue, enqueued.id))
        return Accepted(enqueued.id, enqueued.queue, False, first)

    async def _answer(self, job: NewJob) -> tuple[Enqueued, int]:
        if self._tasks is None:
            raise TooBusy("this server is stopping: send the request again, to another one")
        if self._jobs >= MAX_WAITING or self._bytes + len(job.payload) > MAX_WAITING_BYTES:
            raise TooBusy("more jobs are handed in here than Redis takes: send the request again a little later")
        request = _Request(job, asyncio.get_running_loop().create_future())
        self._jobs += 1
        self._bytes += len(job.payload)
        if job.queue in self._lines:
            self._lines[job.queue].append(request)
        else:
            self._lines[job.queue] = line = deque([request])
            # A context of its own: what is bound to this request says nothing about those that join it.
            self._tasks.create_task(self._serve(job.queue, line), context=Context())
        return await request.answer

    async def _serve(self, queue: str, line: deque[_Request]) -> None:
        """Sends call after call until nobody waits for this queue any more."""
        requests: Sequence[_Request] = ()
        try:
            while requests := self._next(line):
                await self._store_together(queue, requests)
        finally:
            del self._lines[queue]
            # Only a cancellation leaves any: nobody may wait for ever.
            left = [*requests, *self._everybody(line)]
            _refuse(left, StoreUnavailable("the server was stopped before Redis had answered"))

    def _next(self, line: deque[_Request]) -> list[_Request]:
        """Takes from the line what one call may carry, without those who have left it."""
        requests: list[_Request] = []
        size = 0
        while line and len(requests) < MAX_JOBS:
            length = len(line[0].job.payload)
            if requests and size + length > MAX_BYTES:
                break
            request = line.popleft()
            self._jobs -= 1
            self._bytes -= length
            if not request.answer.done():
                requests.append(request)
                size += length
        return requests

    def _everybody(self, line: deque[_Request]) -> list[_Request]:
        """Takes all that is left from the line."""
        requests: list[_Request] = []
        while line:
            requests += self._next(line)
        return requests

    async def _store_together(self, queue: str, requests: Sequence[_Request]) -> None:
        """One call for all. If the script fails, each is sent on its own: only what it fails at must fail."""
        try:
            stored = await self._store.run(store_jobs(queue, [request.job for request in requests]))
        except ScriptFault as error:
            if len(requests) == 1:
                _refuse(requests, error)
                return
            for request in requests:
                await self._store_together(queue, [request])
        except StoreUnavailable as error:
            # Redis was away for as long as a request may wait for it. Those behind have waited as long, and would go on
            # doing so, one call after the other.
            _refuse([*requests, *self._everybody(self._lines[queue])], error)
        except Exception as error:
            _refuse(requests, error)
        else:
            _tell(requests, stored)


def _tell(requests: Sequence[_Request], stored: Stored) -> None:
    for request, enqueued in zip(requests, stored.jobs, strict=True):
        if not request.answer.done():
            request.answer.set_result((enqueued, stored.as_of_ms))


def _refuse(requests: Sequence[_Request], error: Exception) -> None:
    for request in requests:
        if not request.answer.done():
            request.answer.set_exception(error)
