"""Carries out calls and plans on an asyncio connection pool."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self, TypeVar, cast, overload

from redis.exceptions import NoScriptError

from leaseforge.calls import Batch, Call, Plan, Replicated, Step
from leaseforge.errors import LeaseforgeError
from leaseforge.keys import queue_key
from leaseforge.store.address import Address, parse_address
from leaseforge.store.checks import check_confirmed, check_report, layout_call
from leaseforge.store.clients import ASYNCIO, Client, open_client
from leaseforge.store.faults import CLIENT_ERRORS, is_retryable, translate
from leaseforge.store.kept import MOST_KEPT, KeptConnections
from leaseforge.store.pacing import pauses
from leaseforge.store.recent import Recent
from leaseforge.store.server import Ask, ServerReport, read_report

T = TypeVar("T")
R = TypeVar("R")


class Store:
    """Redis for asyncio programs.

    Calls are sent without hidden repeats by the client; ours cover errors that pass (no
    connection, loading, failover, a moving slot) for up to `retry_s`, which is safe because every
    script is. Then StoreUnavailable is raised.
    """

    def __init__(
        self, address: Address, *, retry_s: float = 5.0, timeout_s: float = 5.0, connections: int = 64
    ) -> None:
        self.address = address
        self.retry_s = retry_s
        self.timeout_s = timeout_s
        self._recent = Recent()
        self._nodes: dict[Address, Client] = {}
        # More than can be asked for at a time: the pool refuses where this waits.
        self._slots = asyncio.Semaphore(connections)
        self._connections = connections + MOST_KEPT + 1
        # No time-outs of the client's own: on Python 3.11 they swallow a cancellation that comes while it sends.
        self._client = open_client(ASYNCIO, address, timeout_s=None, connections=self._connections)
        # A Sentinel's pool leaves connections that are in use on the master of before when it learns of another.
        self._kept = KeptConnections(self._client) if address.kind == "single" else None
        self._waiting: Client | None = None

    @overload
    async def run(self, work: Call[T]) -> T: ...
    @overload
    async def run(self, work: Plan[T]) -> T: ...
    async def run(self, work: Call[T] | Plan[T]) -> T:
        """Carries out one call, or a plan step by step."""
        if isinstance(work, Call):
            return await self._call(work)
        try:
            step = next(work)
            while True:
                try:
                    answer: Any = await self._step(step)
                except LeaseforgeError as error:
                    step = work.throw(error)
                else:
                    step = work.send(answer)
        except StopIteration as end:
            return cast(T, end.value)

    async def run_many(self, calls: Sequence[Call[T]]) -> list[T]:
        """Carries out calls together, in one round trip where the server allows it."""
        if self.address.kind == "cluster":
            return list(await asyncio.gather(*(self._call(call) for call in calls)))
        answers: list[T] = []
        for start in range(0, len(calls), 100):
            answers += await self._pipeline(calls[start : start + 100])
        return answers

    async def wait(self, queues: Sequence[str], *, timeout_s: float) -> str | None:
        """Waits until one of the queues may have something to claim; its name, or None when time is up.

        Uses a connection of its own. Errors are raised as StoreUnavailable at once: the caller has
        a loop of its own. In a cluster only one queue can be waited for at a time.
        """
        if self._waiting is None:
            self._waiting = open_client(ASYNCIO, self.address, timeout_s=None, connections=max(32, len(queues)))
        names = {queue_key(queue, "wake").encode(): queue for queue in queues}
        try:
            # The client's own limit is for a server that is gone without a word.
            async with asyncio.timeout(timeout_s + self.timeout_s):
                popped = await self._waiting.blpop(list(names), timeout=timeout_s)
        except CLIENT_ERRORS as error:
            raise translate(error) from error
        return names[popped[0]] if popped else None

    async def ping(self) -> None:
        """Asks the server for a sign of life, once. Raises StoreUnavailable."""
        await self._once(lambda: self._client.ping())

    async def info(self) -> dict[str, Any]:
        """The server's own report, one flat dictionary. Of a cluster, one primary's."""
        reports = await self._once(self._reports)
        return reports[0]

    async def servers(self) -> list[ServerReport]:
        """What the server tells of itself; of a cluster, each primary. Raises StoreUnavailable.

        Commands that our user may not use are named in the report instead of failing it.
        """
        if self.address.kind != "cluster":
            return [await read_report(str(self.address), self._asking())]
        await self._once(self._client.initialize)
        nodes = sorted(self._client.get_primaries(), key=lambda node: str(node.name))
        return [await read_report(node.name, self._asking(target_nodes=node)) for node in nodes]

    async def check(self) -> None:
        """Refuses a server that would lose jobs: too old, evicting, read-only, of another layout version.

        Of a cluster every primary must do. Raises StoreUnsuitable that names the setting, or StoreUnavailable.
        """
        for report in await self._once(self._reports):
            check_report(report)
        await self.run(layout_call())

    async def aclose(self) -> None:
        """Closes all connections."""
        for client in (self._client, *self._nodes.values()):
            await client.aclose()
        if self._waiting is not None:
            await self._waiting.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _step(self, step: Step) -> Any:
        match step:
            case Call():
                return await self._call(step)
            case Batch():
                return await self.run_many(step.calls)
            case Replicated():
                return await self._replicated(step)

    async def _replicated(self, step: Replicated[T]) -> T:
        reply, confirmed = await self._patiently(lambda: self._send_replicated(step))
        check_confirmed(step, confirmed)
        return step.call.read(reply)

    async def _send_replicated(self, step: Replicated[Any]) -> tuple[Any, int]:
        """The script and WAIT on one connection: WAIT speaks of what its own connection wrote."""
        async with self._slots, asyncio.timeout(self.timeout_s + step.timeout_ms / 1000):
            pipeline = (await self._node_of(step.call)).pipeline(transaction=False)
            pipeline.execute_command("EVAL", step.call.script.text, *step.call.command())
            pipeline.execute_command("WAIT", step.replicas, step.timeout_ms)
            reply, confirmed = await pipeline.execute()
        return reply, confirmed

    async def _node_of(self, call: Call[Any]) -> Client:
        if self.address.kind != "cluster":
            return self._client
        key = call.keys[0][1]
        # The client learns where a slot is now by asking there.
        await self._client.exists(key)
        node = self._client.get_node_from_key(key)
        address = Address("single", ((node.host, node.port),), **self.address.credentials())
        if address not in self._nodes:
            self._nodes[address] = open_client(ASYNCIO, address, timeout_s=None, connections=self._connections)
        return self._nodes[address]

    async def _call(self, call: Call[T]) -> T:
        if (known := self._recent.find(call)) is not None:
            return call.read(known[0])
        answer = await self._patiently(lambda: self._send(call))
        self._recent.keep(call, answer)
        return call.read(answer)

    async def _patiently(self, send: Callable[[], Awaitable[R]]) -> R:
        """Sends again after errors that pass, for up to `retry_s`."""
        deadline = time.monotonic() + self.retry_s
        for pause_s in pauses():
            try:
                return await send()
            except CLIENT_ERRORS as error:
                if not is_retryable(error) or time.monotonic() + pause_s > deadline:
                    raise translate(error) from error
                await asyncio.sleep(pause_s)
        raise AssertionError("pauses never end")

    async def _send(self, call: Call[Any]) -> Any:
        command = call.command()
        async with self._slots, asyncio.timeout(self.timeout_s):
            execute = self._client.execute_command if self._kept is None else self._kept.execute
            try:
                return await execute("EVALSHA", call.script.sha, *command)
            except NoScriptError:
                return await execute("EVAL", call.script.text, *command)

    async def _pipeline(self, calls: Sequence[Call[T]]) -> list[T]:
        pipeline = self._client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command("EVALSHA", call.script.sha, *call.command())
        try:
            async with self._slots, asyncio.timeout(self.timeout_s):
                replies = await pipeline.execute(raise_on_error=False)
        except CLIENT_ERRORS:
            return [await self._call(call) for call in calls]
        return [
            await self._call(call) if isinstance(reply, Exception) else call.read(reply)
            for call, reply in zip(calls, replies, strict=True)
        ]

    async def _reports(self) -> list[dict[str, Any]]:
        if self.address.kind != "cluster":
            return [await self._client.info("everything")]
        await self._client.initialize()
        primaries = self._client.get_primaries()
        return [await self._client.info("everything", target_nodes=node) for node in primaries]

    def _asking(self, **options: Any) -> Ask:
        async def ask(*words: str | int) -> Any:
            async with self._slots, asyncio.timeout(self.timeout_s):
                return await self._client.execute_command(*words, **options)

        return ask

    async def _once(self, command: Callable[[], Awaitable[R]]) -> R:
        try:
            async with self._slots, asyncio.timeout(self.timeout_s):
                return await command()
        except CLIENT_ERRORS as error:
            raise translate(error) from error


def connect(url: str, **options: Any) -> Store:
    """A store for the server at `url` (see store.address for the forms). Connects when it is first used."""
    return Store(parse_address(url), **options)
