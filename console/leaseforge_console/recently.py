"""Readings that are dear and change slowly: each is made once in a while, however many pages show it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 64
"""Beyond so many different readings all are forgotten."""


@dataclass(slots=True)
class _Kept:
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    until: float = 0.0
    value: Any = None


class Recently:
    """What was read lately, by key. A reading that fails is kept for nobody."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, _Kept] = {}

    async def get(self, key: Hashable, read: Callable[[], Awaitable[T]], *, for_s: float) -> T:
        """The value of `key` as it was at most `for_s` ago; those who ask meanwhile wait for one reading."""
        if key not in self._kept and len(self._kept) >= MOST:
            self._kept.clear()
        kept = self._kept.setdefault(key, _Kept())
        async with kept.reading:
            if time.monotonic() >= kept.until:
                kept.value = await read()
                kept.until = time.monotonic() + for_s
            value: T = kept.value
            return value
