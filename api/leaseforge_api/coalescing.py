"""Enqueueing over HTTP: requests that arrive together go to Redis together, each with an answer of its own.

No timer: a call leaves as soon as the one before it is back, with whatever has arrived meanwhile. A request that
is alone goes to Redis at once, by itself; under load the calls grow by themselves, and Redis is asked less often.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
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

_STOPPED = "the server was stopped before Redis had answered"


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

    `is_alone` says whether the request that asks is the only one this process is answering. Then its job goes at once;
    otherwise those that arrive in the same turn of the loop leave together. Jobs of one queue keep the order they were
    handed in. Whoever is cancelled leaves the line; a job that is on its way with others then is stored all the same.
    """

    def __init__(self, store: Store, *, is_alone: Callable[[], bool]) -> None:
        self._store = store
        self._is_alone = is_alone
        self._is_open = False
        self._tasks: asyncio.TaskGroup | None = None
        self._lines: dict[str, deque[_Request]] = {}
        self._emptied = asyncio.Event()
        self._jobs = 0
        self._bytes = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Takes in jobs until the block is left, which waits for those that were taken in."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks, self._is_open = tasks, True
            try:
                yield
                self._is_open = False
                while self._lines:
                    self._emptied.clear()
                    await self._emptied.wait()
            finally:
                self._is_open, self._tasks = False, None
                for line in self._lines.values():
                    _refuse(self._everybody(line), StoreUnavailable(_STOPPED))

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
        tasks = self._tasks
        if tasks is None or not self._is_open:
            raise TooBusy("this server is stopping: send the request again, to another one")
        line = self._lines.get(job.queue)
        if line is None and self._is_alone():
            return await self._store_alone(job)
        if self._jobs >= MAX_WAITING or self._bytes + len(job.payload) > MAX_WAITING_BYTES:
            raise TooBusy("more jobs are handed in here than Redis takes: send the request again a little later")
        request = _Request(job, asyncio.get_running_loop().create_future())
        self._jobs += 1
        self._bytes += len(job.payload)
        if line is None:
            self._lines[job.queue] = deque([request])
            self._serve_later(tasks, job.queue)
        else:
            line.append(request)
        try:
            return await request.answer
        finally:
            # An error it ends with would hold it, with all that was sent, by its traceback, and be held by it.
            del request

    async def _store_alone(self, job: NewJob) -> tuple[Enqueued, int]:
        """Sends a call for this job alone. Whoever comes meanwhile waits, and is served when it is back."""
        line: deque[_Request] = deque()
        self._lines[job.queue] = line
        try:
            stored = await self._store.run(store_jobs(job.queue, [job]))
        except StoreUnavailable as error:
            _refuse(self._everybody(line), error)  # they would only wait in vain, too
            raise
        finally:
            if line and self._tasks is not None:
                self._serve_later(self._tasks, job.queue)
            else:
                self._end_line(job.queue)
        [enqueued] = stored.jobs
        return enqueued, stored.as_of_ms

    def _serve_later(self, tasks: asyncio.TaskGroup, queue: str) -> None:
        """In the loop's next turn: until then others may join."""
        # A context of its own: what is bound to one request says nothing about those that join it.
        tasks.create_task(self._serve(queue, self._lines[queue]), context=Context())

    async def _serve(self, queue: str, line: deque[_Request]) -> None:
        """Sends call after call until nobody waits for this queue any more."""
        requests: Sequence[_Request] = ()
        try:
            while requests := self._next(line):
                await self._store_together(queue, requests)
        finally:
            # Only a cancellation leaves any: nobody may wait for ever.
            _refuse([*requests, *self._everybody(line)], StoreUnavailable(_STOPPED))
            self._end_line(queue)

    def _end_line(self, queue: str) -> None:
        del self._lines[queue]
        self._emptied.set()

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
            # Redis was away for as long as a request may wait for it. Those behind would wait in vain, too, one call
            # after the other.
            _refuse([*requests, *self._everybody(self._lines[queue])], error)
        except Exception as error:
            _refuse(requests, error)
        else:
            _tell(requests, stored)
        finally:
            del requests  # as above


def _tell(requests: Sequence[_Request], stored: Stored) -> None:
    for request, enqueued in zip(requests, stored.jobs, strict=True):
        if not request.answer.done():
            request.answer.set_result((enqueued, stored.as_of_ms))


def _refuse(requests: Sequence[_Request], error: Exception) -> None:
    for request in requests:
        if not request.answer.done():
            request.answer.set_exception(error)
