"""Reads of one thing that many ask for at the same time, made once for all; no answer is older than its question.

Whoever asks while a read is on its way does not get its answer, which may be of before, but shares the next one with
all that ask until then.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from contextvars import Context
from typing import Any, Generic, TypeVar

from leaseforge.errors import StoreUnavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedReads(Generic[K, V]):
    """Asks `read` for a key at most once at a time.

    `is_alone` says whether the request that asks is the only one this process is answering. Then it asks at once;
    otherwise those that ask in the same turn of the loop share a read.
    """

    def __init__(self, read: Callable[[K], Awaitable[V]], *, is_alone: Callable[[], bool]) -> None:
        self._read = read
        self._is_alone = is_alone
        self._lines: dict[K, list[asyncio.Future[V]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, key: K) -> V:
        """What a read that begins after this call answers or raises. StoreUnavailable may be of the one before."""
        line = self._lines.get(key)
        if line is None and self._is_alone():
            return await self._read_alone(key)
        answer: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        if line is None:
            self._lines[key] = [answer]
            self._serve_later(key)
        else:
            line.append(answer)
        try:
            return await answer
        finally:
            del answer  # an error it ends with would hold it by its traceback, and be held by it

    async def _read_alone(self, key: K) -> V:
        self._lines[key] = []
        try:
            return await self._read(key)
        except StoreUnavailable as error:
            _refuse(self._take(key), error)  # they would only wait in vain, too
            raise
        finally:
            if self._lines[key]:
                self._serve_later(key)
            else:
                del self._lines[key]

    def _serve_later(self, key: K) -> None:
        """In the loop's next turn: until then others may join."""
        # A context of its own: what is bound to one request says nothing about the others.
        task = asyncio.get_running_loop().create_task(self._serve(key), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, key: K) -> None:
        """Reads again and again until nobody asks for this key any more."""
        asking: list[asyncio.Future[V]] = []
        try:
            while asking := self._take(key):
                await self._read_for(key, asking)
        finally:
            for answer in (*asking, *self._lines.pop(key)):
                answer.cancel()  # only this task's own end leaves any: nobody may wait for ever

    def _take(self, key: K) -> list["asyncio.Future[V]"]:
        """Those who ask for it now, but for those who have given up."""
        line, self._lines[key] = self._lines[key], []
        return [answer for answer in line if not answer.done()]

    async def _read_for(self, key: K, asking: list["asyncio.Future[V]"]) -> None:
        try:
            found = await self._read(key)
        except StoreUnavailable as error:
            _refuse([*asking, *self._take(key)], error)
        except Exception as error:
            _refuse(asking, error)
        else:
            for answer in asking:
                if not answer.done():
                    answer.set_result(found)
        finally:
            del asking  # as above


def _refuse(asking: "Iterable[asyncio.Future[Any]]", error: Exception) -> None:
    for answer in asking:
        if not answer.done():
            answer.set_exception(error)
