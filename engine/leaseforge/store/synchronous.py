"""Carries out calls and plans for programs without an event loop, from any number of threads."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar, cast, overload

from redis.exceptions import NoScriptError, RedisError

from leaseforge.calls import Batch, Call, Plan, Replicated, Step
from leaseforge.errors import LeaseforgeError, StoreUnavailable
from leaseforge.store.address import Address, parse_address
from leaseforge.store.checks import check_report, layout_call
from leaseforge.store.clients import BLOCKING, Client, open_client
from leaseforge.store.faults import is_retryable, translate
from leaseforge.store.pacing import pauses

T = TypeVar("T")


class SyncStore:
    """Redis for programs without an event loop; safe to share between threads.

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
        self._nodes: dict[Address, Client] = {}
        self._client = open_client(BLOCKING, address, timeout_s=timeout_s, connections=connections)

    @overload
    def run(self, work: Call[T]) -> T: ...
    @overload
    def run(self, work: Plan[T]) -> T: ...
    def run(self, work: Call[T] | Plan[T]) -> T:
        """Carries out one call, or a plan step by step."""
        if isinstance(work, Call):
            return self._call(work)
        try:
            step = next(work)
            while True:
                try:
                    answer: Any = self._step(step)
                except LeaseforgeError as error:
                    step = work.throw(error)
                else:
                    step = work.send(answer)
        except StopIteration as end:
            return cast(T, end.value)

    def run_many(self, calls: Sequence[Call[T]]) -> list[T]:
        """Carries out calls together, in one round trip where the server allows it."""
        if self.address.kind == "cluster":
            return [self._call(call) for call in calls]
        answers: list[T] = []
        for start in range(0, len(calls), 100):
            answers += self._pipeline(calls[start : start + 100])
        return answers

    def ping(self) -> None:
        """Asks the server for a sign of life, once. Raises StoreUnavailable."""
        self._once(lambda: self._client.ping())

    def info(self) -> dict[str, Any]:
        """The server's own report, one flat dictionary. Of a cluster, one primary's."""
        options = {"target_nodes": self._client.get_random_node()} if self.address.kind == "cluster" else {}
        return cast(dict[str, Any], self._once(lambda: self._client.info("everything", **options)))

    def check(self) -> None:
        """Refuses a server that would lose jobs: too old, evicting, read-only, of another layout version.

        Raises StoreUnsuitable that names the setting, or StoreUnavailable.
        """
        check_report(self.info())
        self.run(layout_call())

    def close(self) -> None:
        """Closes all connections."""
        for client in (self._client, *self._nodes.values()):
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _step(self, step: Step) -> Any:
        match step:
            case Call():
                return self._call(step)
            case Batch():
                return self.run_many(step.calls)
            case Replicated():
                return self._replicated(step)

    def _replicated(self, step: Replicated[T]) -> T:
        """The script and WAIT on one connection: WAIT speaks of what its own connection wrote."""
        call = step.call
        try:
            pipeline = self._node_of(call).pipeline(transaction=False)
            pipeline.execute_command("EVAL", call.script.text, *call.command())
            pipeline.execute_command("WAIT", step.replicas, step.timeout_ms)
            reply, confirmed = pipeline.execute()
        except (RedisError, OSError) as error:
            raise translate(error) from error
        if confirmed < step.replicas:
            raise StoreUnavailable(
                f"{confirmed} of {step.replicas} replicas confirmed within {step.timeout_ms} ms: the outcome is "
                "unknown, the same request may safely be sent again"
            )
        return call.read(reply)

    def _node_of(self, call: Call[Any]) -> Client:
        if self.address.kind != "cluster":
            return self._client
        node = self._client.get_node_from_key(call.keys[0][1])
        address = Address("single", ((node.host, node.port),), **self.address.credentials())
        if address not in self._nodes:
            self._nodes[address] = open_client(BLOCKING, address, timeout_s=self.timeout_s, connections=8)
        return self._nodes[address]

    def _call(self, call: Call[T]) -> T:
        deadline = time.monotonic() + self.retry_s
        for pause_s in pauses():
            try:
                return call.read(self._send(call))
            except (RedisError, OSError) as error:
                if not is_retryable(error) or time.monotonic() + pause_s > deadline:
                    raise translate(error) from error
                time.sleep(pause_s)
        raise AssertionError("pauses never end")

    def _send(self, call: Call[Any]) -> Any:
        command = call.command()
        try:
            return self._client.evalsha(call.script.sha, *command)
        except NoScriptError:
            return self._client.eval(call.script.text, *command)

    def _pipeline(self, calls: Sequence[Call[T]]) -> list[T]:
        pipeline = self._client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command("EVALSHA", call.script.sha, *call.command())
        try:
            replies = pipeline.execute(raise_on_error=False)
        except (RedisError, OSError):
            return [self._call(call) for call in calls]
        return [
            self._call(call) if isinstance(reply, Exception) else call.read(reply)
            for call, reply in zip(calls, replies, strict=True)
        ]

    def _once(self, command: Callable[[], Any]) -> Any:
        try:
            return command()
        except (RedisError, OSError) as error:
            raise translate(error) from error


def connect_sync(url: str, **options: Any) -> SyncStore:
    """A store for the server at `url` (see store.address for the forms). Connects when it is first used."""
    return SyncStore(parse_address(url), **options)
