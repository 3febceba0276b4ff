"""Reads of one thing that many ask for at the same time, made once for all; no answer is older than its question.

Whoever asks while a read is on its way does not get its answer, which may be of before, but shares the next one with
all that ask until then.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextvars import Context
from typing import Generic, TypeVar

from leaseforge.errors import StoreUnavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedReads(Generic[K, V]):
    """Asks `read` for a key at most once at a time. A lone question is asked at once."""

    def __init__(self, read: Callable[[K], Awaitable[V]]) -> None:
        self._read = read
        self._lines: dict[K, list[asyncio.Future[V]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, key: K) -> V:
        """What a read that begins after this call answers or raises. StoreUnavailable may be of the one before."""
        line = self._lines.get(key)
        if line is not None:
            answer: asyncio.Future[V] = asyncio.get_running_loop().create_future()
            line.append(answer)
            return await answer
        self._lines[key] = []
        unavailable = None
        try:
            return await self._read(key)
        except StoreUnavailable as error:
            unavailable = error
            raise
        finally:
            self._go_on(key, unavailable)

    def _go_on(self, key: K, unavailable: StoreUnavailable | None) -> None:
        """A read is over: the next one is made for those who have come meanwhile.

        If Redis is away they have waited for it long enough.
        """
        line = [answer for answer in self._lines[key] if not answer.done()]
        if unavailable is not None:
            for answer in line:
                answer.set_exception(unavailable)
            line = []
        if not line:
            del self._lines[key]
            return
        self._lines[key] = []
        # A context of its own: what is bound to one request says nothing about the others.
        task = asyncio.get_running_loop().create_task(self._serve(key, line), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, key: K, line: list["asyncio.Future[V]"]) -> None:
        unavailable = None
        try:
            found = await self._read(key)
        except Exception as error:
            unavailable = error if isinstance(error, StoreUnavailable) else None
            for answer in line:
                if not answer.done():
                    answer.set_exception(error)
        else:
            for answer in line:
                if not answer.done():
                    answer.set_result(found)
        finally:
            for answer in line:
                answer.cancel()  # only this task's own end leaves any: nobody may wait for ever
            self._go_on(key, unavailable)
