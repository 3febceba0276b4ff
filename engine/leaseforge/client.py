"""The producer's API, for programs with an event loop and without: each method is written once.

    client = Client("redis://localhost:6379/0")
    client.enqueue("send_email", {"to": "ada@example.com"}, queue="mail")

AsyncClient has the same methods, awaited.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from leaseforge import operations, reads
from leaseforge.calls import Call, Plan
from leaseforge.enqueueing import Enqueued
from leaseforge.requests import new_job
from leaseforge.store import Store, SyncStore, connect, connect_sync

P = ParamSpec("P")
T = TypeVar("T")
RETRY_S = 30.0
"""How long a producer's call is repeated while Redis is away: shorter than the 60 s a record is spared by trims."""


class _Method(Generic[P, T]):
    """A plan as a method: of a Client it answers at once, of an AsyncClient it is awaited."""

    def __init__(self, plan: Callable[P, Plan[T]]) -> None:
        self._plan = plan
        self.__doc__ = plan.__doc__

    @overload
    def __get__(self, client: "Client", owner: type | None = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type | None = None) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, owner: type | None = None) -> Self: ...
    def __get__(self, client: "Client | AsyncClient | None", owner: type | None = None) -> Any:
        if client is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.run(self._plan(*args, **kwargs))

        method.__doc__ = self.__doc__
        return method


def _requested(build: Callable[P, Any]) -> Callable[[Callable[..., Plan[Enqueued]]], Callable[P, Plan[Enqueued]]]:
    """Gives a plan the signature of `new_job`, so that type checkers and editors know every field."""

    def decorate(plan: Callable[..., Plan[Enqueued]]) -> Callable[P, Plan[Enqueued]]:
        return plan

    return decorate


@_requested(new_job)
def _enqueue(*args: Any, **kwargs: Any) -> Plan[Enqueued]:
    """Stores one job for the task `type`; the fields are those of `leaseforge.new_job`.

    Answers its id, and whether it was created or is the duplicate of an equal earlier request.
    Raises BadInput, PayloadTooLarge, IdempotencyConflict, StoreFull, or StoreUnavailable: after the
    last the outcome is unknown, and the same id or idempotency key may safely be sent again.
    """
    return operations.enqueue(new_job(*args, **kwargs))


class _Methods:
    """What both clients can do."""

    enqueue = _Method(_enqueue)
    enqueue_many = _Method(operations.enqueue_many)
    job = _Method(reads.job)
    queue = _Method(reads.queue)
    queues = _Method(reads.queues)
    pause = _Method(operations.pause)
    resume = _Method(operations.resume)
    retry = _Method(operations.retry)
    requeue = _Method(operations.requeue)
    cancel = _Method(operations.cancel)
    delete = _Method(operations.delete)


class Client(_Methods):
    """For programs without an event loop; safe to share between threads."""

    def __init__(self, url: str, *, retry_s: float = RETRY_S) -> None:
        self.store: SyncStore = connect_sync(url, retry_s=retry_s)

    def run(self, work: Call[T] | Plan[T]) -> T:
        """Carries out a call or a plan."""
        return self.store.run(work)

    def close(self) -> None:
        """Closes the connections."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Methods):
    """For asyncio programs."""

    def __init__(self, url: str, *, retry_s: float = RETRY_S) -> None:
        self.store: Store = connect(url, retry_s=retry_s)

    async def run(self, work: Call[T] | Plan[T]) -> T:
        """Carries out a call or a plan."""
        return await self.store.run(work)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.store.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
