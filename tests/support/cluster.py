"""A Redis Cluster of our own: primaries on loopback ports, formed and resharded with plain commands."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import randrange
from typing import Any

import redis
from redis.crc import key_slot

from leaseforge.embedded import EmbeddedServer
from leaseforge.keys import queue_key
from leaseforge.server_binary import BUNDLED, EmbeddedServerError, ServerBinary, find_binary
from tests.support.components import unavailable
from tests.support.waiting import eventually_sync

SLOTS = 16384
BINARIES = {"embedded": BUNDLED, "redis": "redis-server"}


class Node:
    """One server of a cluster, with a plain client that follows no redirection."""

    def __init__(self, server: EmbeddedServer) -> None:
        self.server = server
        self.port = server.port or 0
        self.client: Any = redis.Redis(port=self.port)
        self.id = ""

    def cluster(self, *words: Any) -> Any:
        """One CLUSTER subcommand; replies are as the server gives them."""
        reply = self.client.execute_command("CLUSTER", *words)
        return reply.decode() if isinstance(reply, bytes) else reply


class OwnCluster:
    """Primaries that share the slots evenly, in the order of `nodes`."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.owners = [slot * len(self.nodes) // SLOTS for slot in range(SLOTS)]
        self._form()

    @property
    def url(self) -> str:
        return "cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def owner(self, queue: str) -> Node:
        """The node that holds a queue's keys."""
        return self.nodes[self.owners[slot_of(queue)]]

    def flush(self) -> None:
        for node in self.nodes:
            node.client.flushall()

    def begin_move(self, queue: str, target: Node) -> None:
        """The slot of a queue begins to move: from now on both nodes have half of it."""
        source, slot = self.owner(queue), slot_of(queue)
        target.cluster("SETSLOT", slot, "IMPORTING", source.id)
        source.cluster("SETSLOT", slot, "MIGRATING", target.id)

    def move_keys(self, queue: str, target: Node, *, most: int = 100) -> int:
        """Moves some of the slot's keys, as resharding tools do; how many, 0 when none is left."""
        source = self.owner(queue)
        keys = source.client.execute_command("CLUSTER", "GETKEYSINSLOT", slot_of(queue), most)
        if keys:
            source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 10_000, "KEYS", *keys)
        return len(keys)

    def end_move(self, queue: str, target: Node) -> None:
        """The slot belongs to its new node."""
        slot, source = slot_of(queue), self.owner(queue)
        others = [node for node in self.nodes if node not in (source, target)]
        for node in (target, source, *others):
            node.cluster("SETSLOT", slot, "NODE", target.id)
        self.owners[slot] = self.nodes.index(target)

    def _form(self) -> None:
        first = self.nodes[0]
        for number, node in enumerate(self.nodes):
            node.id = node.cluster("MYID")
            node.cluster("SET-CONFIG-EPOCH", number + 1)
            own = [slot for slot in range(SLOTS) if self.owners[slot] == number]
            node.cluster("ADDSLOTSRANGE", own[0], own[-1])
            if node is not first:
                node.cluster("MEET", "127.0.0.1", first.port, first.server.config["cluster-port"])
        for node in self.nodes:
            eventually_sync(lambda node=node: _is_whole(node.client, len(self.nodes)), within_s=60)  # type: ignore[misc]  # bound at once


def slot_of(queue: str) -> int:
    return int(key_slot(queue_key(queue, "guard").encode()))


def low_port() -> int:
    """A free loopback port below those that the system gives to clients: one of them may need it any moment."""
    while True:
        port = randrange(12_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def server_binary(name: str) -> ServerBinary:
    """The server program called `embedded` or `redis`; the test is skipped without it."""
    binary = find_binary(BINARIES[name])
    if binary is None:
        unavailable(f"{BINARIES[name]} is not installed")
    return binary


def start_low(folder: Path, binary: ServerBinary, config: dict[str, str] | None = None) -> EmbeddedServer:
    """A server on a free low port that keeps nothing on disk; with `cluster-enabled` also on a bus port of its own."""
    for attempt in range(5):
        options = {"enable-debug-command": "yes", **(config or {})}
        if options.get("cluster-enabled") == "yes":
            options["cluster-port"] = str(low_port())
        server = EmbeddedServer(
            folder / f"try-{attempt}", port=low_port(), durable=False, binary=binary, config=options
        )
        try:
            return server.start()
        except EmbeddedServerError:  # somebody took a port between our look and the server's bind
            server.stop()
            if attempt == 4:
                raise
    raise AssertionError("unreachable")


@contextmanager
def running_cluster(folder: Path, *, binary: ServerBinary, primaries: int = 3) -> Iterator[OwnCluster]:
    """A fresh cluster, gone with the block."""
    options = {"cluster-enabled": "yes", "cluster-config-file": "nodes.conf", "cluster-node-timeout": "15000"}
    with ExitStack() as stack:
        nodes = []
        for number in range(primaries):
            server = start_low(folder / f"node-{number}", binary, options)
            stack.callback(server.stop)
            node = Node(server)
            stack.callback(node.client.close)
            nodes.append(node)
        yield OwnCluster(nodes)


def _is_whole(client: Any, size: int) -> bool:
    info = client.execute_command("CLUSTER", "INFO")
    text = info.decode() if isinstance(info, bytes) else str(info)
    return ("cluster_state:ok" in text or "'cluster_state': 'ok'" in text) and (
        f"cluster_known_nodes:{size}" in text or f"'cluster_known_nodes': '{size}'" in text
    )
