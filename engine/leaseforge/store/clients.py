"""Clients of redis-py for an address of any kind, in its two flavours, that repeat nothing by themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import hiredis
import redis
import redis.asyncio
import redis.asyncio.retry
import redis.asyncio.sentinel
import redis.cluster
import redis.retry
import redis.sentinel
from redis.backoff import NoBackoff

from leaseforge.store.address import Address

Client = Any
"""redis-py's clients for one server and for a cluster share what we use, but no base class."""


@dataclass(frozen=True, slots=True)
class Flavour:
    """The classes of redis-py's asyncio or blocking half."""

    single: Callable[..., Client]
    cluster: Callable[..., Client]
    node: Callable[..., Any]
    sentinel: Callable[..., Any]
    retry: Callable[..., Any]
    packs_slowly: bool = False
    """Whether its connections put commands into words byte by byte in Python."""


ASYNCIO = Flavour(
    redis.asyncio.Redis,
    redis.asyncio.RedisCluster,
    redis.asyncio.cluster.ClusterNode,
    redis.asyncio.sentinel.Sentinel,
    redis.asyncio.retry.Retry,
    packs_slowly=True,
)
BLOCKING = Flavour(
    redis.Redis,
    redis.cluster.RedisCluster,
    redis.cluster.ClusterNode,
    redis.sentinel.Sentinel,
    redis.retry.Retry,
)


def open_client(flavour: Flavour, address: Address, *, timeout_s: float | None, connections: int) -> Client:
    """A client for `address`; connects when it is first used. `timeout_s` None: a reply may take for ever."""
    options = address.connection_options() | {
        "socket_timeout": timeout_s,
        "socket_connect_timeout": 5.0,
        "retry": flavour.retry(NoBackoff(), 0),
        "max_connections": connections,
    }
    if address.kind == "cluster":
        nodes = [flavour.node(host, port) for host, port in address.hosts]
        return flavour.cluster(startup_nodes=nodes, **options)
    if address.kind == "sentinel":
        sentinel_options = {"socket_timeout": 2.0, **address.sentinel_auth}
        sentinel = flavour.sentinel(list(address.hosts), sentinel_kwargs=sentinel_options, **options)
        return _packing_fast(flavour, sentinel.master_for(address.service))
    if address.path is not None:
        return _packing_fast(flavour, flavour.single(unix_socket_path=address.path, **options))
    host, port = address.hosts[0]
    return _packing_fast(flavour, flavour.single(host=host, port=port, **options))


def _packing_fast(flavour: Flavour, client: Client) -> Client:
    """Before it connects: a script call has hundreds of words, and redis-py's asyncio half packs them in Python."""
    if flavour.packs_slowly:
        pool = client.connection_pool
        pool.connection_class = _packed_in_c(pool.connection_class)
    return client


class _PackedInC:
    """Over a connection class of redis-py. All our commands are single words, and all their words str, bytes or int."""

    def pack_command(self, *words: Any) -> list[bytes]:
        name, *rest = words
        if isinstance(name, str) and " " in name:  # the client's own commands, such as CLIENT SETINFO
            return [hiredis.pack_command((*name.split(), *rest))]
        return [hiredis.pack_command(words)]


@lru_cache
def _packed_in_c(connection_class: type) -> type:
    return type(f"{connection_class.__name__}PackedInC", (_PackedInC, connection_class), {})
