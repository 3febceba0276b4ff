"""The two executors behind one awaitable face, so that a test can be written once and run against both."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import anyio.to_thread

from leaseforge.calls import Call, Plan
from leaseforge.store import Store, SyncStore, connect, connect_sync

T = TypeVar("T")


class Door(Protocol):
    """What both stores can do."""

    async def run(self, work: Call[T] | Plan[T]) -> T: ...
    async def run_many(self, calls: Sequence[Call[T]]) -> list[T]: ...
    async def ping(self) -> None: ...
    async def check(self) -> None: ...
    async def aclose(self) -> None: ...


class SyncDoor:
    """A SyncStore whose calls are made in a thread."""

    def __init__(self, store: SyncStore) -> None:
        self.store = store

    async def run(self, work: Call[T] | Plan[T]) -> T:
        return await anyio.to_thread.run_sync(lambda: self.store.run(work))

    async def run_many(self, calls: Sequence[Call[T]]) -> list[T]:
        return await anyio.to_thread.run_sync(lambda: self.store.run_many(calls))

    async def ping(self) -> None:
        await anyio.to_thread.run_sync(self.store.ping)

    async def check(self) -> None:
        await anyio.to_thread.run_sync(self.store.check)

    async def aclose(self) -> None:
        self.store.close()


DOORS = ("async", "sync")


def open_door(kind: str, url: str, **options: Any) -> Door:
    """An executor of that kind for the server at `url`."""
    if kind == "sync":
        return SyncDoor(connect_sync(url, **options))
    store: Store = connect(url, **options)
    return store
