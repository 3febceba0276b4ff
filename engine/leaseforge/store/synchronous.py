"""Carries out calls and plans for programs without an event loop, from any number of threads."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar, cast, overload

from redis.exceptions import NoScriptError

from leaseforge.calls import Batch, Call, Plan, Replicated, Step
from leaseforge.errors import LeaseforgeError
from leaseforge.store.address import Address, parse_address
from leaseforge.store.checks import check_confirmed, check_report, layout_call
from leaseforge.store.clients import BLOCKING, Client, open_client
from leaseforge.store.faults import CLIENT_ERRORS, is_retryable, translate
from leaseforge.store.pacing import pauses
from leaseforge.store.recent import Recent

T = TypeVar("T")
R = TypeVar("R")


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
        self._recent = Recent()
        self._connections = connections
        self._opening = threading.Lock()
        self._nodes: dict[Address, Client] = {}
        self._opened: Client | None = None

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
        reports = self._once(self._reports)
        return reports[0]

    def check(self) -> None:
        """Refuses a server that would lose jobs: too old, evicting, read-only, of another layout version.

        Of a cluster every primary must do. Raises StoreUnsuitable that names the setting, or StoreUnavailable.
        """
        for report in self._once(self._reports):
            check_report(report)
        self.run(layout_call())

    def close(self) -> None:
        """Closes all connections."""
        with self._opening:
            for client in (self._opened, *self._nodes.values()):
                if client is not None:
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
        reply, confirmed = self._patiently(lambda: self._send_replicated(step))
        check_confirmed(step, confirmed)
        return step.call.read(reply)

    def _send_replicated(self, step: Replicated[Any]) -> tuple[Any, int]:
        """The script and WAIT on one connection: WAIT speaks of what its own connection wrote."""
        pipeline = self._node_of(step.call).pipeline(transaction=False)
        pipeline.execute_command("EVAL", step.call.script.text, *step.call.command())
        pipeline.execute_command("WAIT", step.replicas, step.timeout_ms)
        reply, confirmed = pipeline.execute()
        return reply, confirmed

    def _node_of(self, call: Call[Any]) -> Client:
        if self.address.kind != "cluster":
            return self._client
        key = call.keys[0][1]
        # The client learns where a slot is now by asking there.
        self._client.exists(key)
        node = self._client.get_node_from_key(key)
        address = Address("single", ((node.host, node.port),), **self.address.credentials())
        with self._opening:
            if address not in self._nodes:
                self._nodes[address] = self._open(address)
            return self._nodes[address]

    def _open(self, address: Address) -> Client:
        return open_client(BLOCKING, address, timeout_s=self.timeout_s, connections=self._connections)

    def _call(self, call: Call[T]) -> T:
        if (known := self._recent.find(call)) is not None:
            return call.read(known[0])
        answer = self._patiently(lambda: self._send(call))
        self._recent.keep(call, answer)
        return call.read(answer)

    def _patiently(self, send: Callable[[], R]) -> R:
        """Sends again after errors that pass, for up to `retry_s`."""
        deadline = time.monotonic() + self.retry_s
        for pause_s in pauses():
            try:
                return send()
            except CLIENT_ERRORS as error:
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
        except CLIENT_ERRORS:
            return [self._call(call) for call in calls]
        return [
            self._call(call) if isinstance(reply, Exception) else call.read(reply)
            for call, reply in zip(calls, replies, strict=True)
        ]

    @property
    def _client(self) -> Client:
        """Opened when it is first used: a client for a cluster asks it for its nodes at once."""
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    self._opened = self._open(self.address)
        return self._opened

    def _reports(self) -> list[dict[str, Any]]:
        if self.address.kind != "cluster":
            return [self._client.info("everything")]
        return [self._client.info("everything", target_nodes=node) for node in self._client.get_primaries()]

    def _once(self, command: Callable[[], R]) -> R:
        try:
            return command()
        except CLIENT_ERRORS as error:
            raise translate(error) from error


def connect_sync(url: str, **options: Any) -> SyncStore:
    """A store for the server at `url` (see store.address for the forms). Connects when it is first used."""
    return SyncStore(parse_address(url), **options)
