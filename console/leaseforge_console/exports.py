"""Files that are under way: so many at a time, and each only while the session it was asked for in lasts.

A browser may read as slowly as it likes, and each file under way holds what was read for it: with payloads, megabytes.
"""

import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from leaseforge_console.live import TooManyStreams
from leaseforge_console.room import Seat

MOST = 12
MOST_OF_ONE_ACCOUNT = 3
"""Files under way in one process."""
ASK_EVERY_S = 2.0
"""How long a file may go on for a session that was ended, and as long again for the reading."""

T = TypeVar("T")


class TooManyExports(TooManyStreams):
    """More files are under way than one process sends, or than one account may ask for."""


class SessionOver(Exception):
    """The session a file is for has ended."""


class Exports:
    """The files under way, by account."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def take(self, user: str) -> Seat:
        """A seat for one more file. Raises TooManyExports."""
        if self._open[user] >= MOST_OF_ONE_ACCOUNT:
            raise TooManyExports(f"{MOST_OF_ONE_ACCOUNT} files for you are under way: wait until one of them is there")
        if self._open.total() >= MOST:
            raise TooManyExports(f"{MOST} files are under way: wait until one of them is there")
        self._open[user] += 1
        return Seat(lambda: self._give_back(user))

    def _give_back(self, user: str) -> None:
        self._open[user] -= 1
        if not self._open[user]:
            del self._open[user]


async def while_standing(source: AsyncIterator[T], has_ended: Callable[[], Awaitable[bool]]) -> AsyncIterator[T]:
    """What `source` yields. Raises SessionOver soon after the session has ended, instead of yielding more."""
    asked_at = time.monotonic()
    async for one in source:
        if time.monotonic() - asked_at >= ASK_EVERY_S:
            if await has_ended():
                raise SessionOver
            asked_at = time.monotonic()
        yield one
