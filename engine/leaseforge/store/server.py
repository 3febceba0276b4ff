"""What a server tells of itself: version, memory, persistence, clock, slow calls; less where it may not be asked."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import redis.exceptions as faults

from leaseforge.scripts import ENGINE
from leaseforge.store.faults import CLIENT_ERRORS, is_retryable, translate

Ask = Callable[..., Awaitable[Any]]
"""Sends the words of one command to one server and answers its reply."""

MOST_SLOW = 64
_NOT_TOLD = (faults.NoPermissionError, faults.ResponseError)


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes. `limit` is None without one."""

    used: int
    peak: int
    limit: int | None
    policy: str
    evicted: int


@dataclass(frozen=True, slots=True)
class Persistence:
    """How jobs outlive a restart. `fsync` is None where it is not told; `saved_at` is the last snapshot's."""

    append_only: bool
    append_ok: bool
    fsync: str | None
    snapshot_ok: bool
    saved_at: datetime | None
    changes_since: int


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A call that took longer than the server's `slowlog-log-slower-than`. `what` is a script's name, or a command."""

    at: datetime
    took_ms: float
    what: str


@dataclass(frozen=True, slots=True)
class ServerReport:
    """One server. Parts are None, and their commands among `refused`, where our user may not ask for them.

    `clock_ahead_ms` is its clock minus ours, right to about half of `latency_ms`, the time of one round trip.
    """

    address: str
    software: str | None
    mode: str
    role: str
    uptime_s: int
    clients: int
    blocked_clients: int
    rejected: int
    replicas: int
    calls_per_s: int
    memory: Memory | None
    persistence: Persistence | None
    latency_ms: float
    clock_ahead_ms: float | None
    slow: tuple[SlowCall, ...] | None
    refused: tuple[str, ...]


async def read_report(address: str, ask: Ask) -> ServerReport:
    """Asks one server. Raises StoreUnavailable when it does not answer at all."""
    refused: list[str] = []

    async def told(*words: str | int) -> Any:
        try:
            return await ask(*words)
        except _NOT_TOLD as error:
            # A hosted server may not know a command that others know.
            if is_retryable(error):
                raise translate(error) from error
            refused.append(" ".join(str(word) for word in words[:2] if str(word).isupper()))
            return None
        except CLIENT_ERRORS as error:
            raise translate(error) from error

    before, started = time.time(), time.perf_counter()
    clock = await told("TIME")
    took = time.perf_counter() - started
    info = _info(await told("INFO", "everything"))
    fsync = _setting(await told("CONFIG", "GET", "appendfsync"), "appendfsync")
    slow = await told("SLOWLOG", "GET", MOST_SLOW)
    return ServerReport(
        address=address,
        software=_software(info),
        mode=str(info.get("redis_mode") or info.get("server_mode") or "unknown"),
        role=str(info.get("role", "unknown")),
        uptime_s=_whole(info, "uptime_in_seconds"),
        clients=_whole(info, "connected_clients"),
        blocked_clients=_whole(info, "blocked_clients"),
        rejected=_whole(info, "rejected_connections"),
        replicas=_whole(info, "connected_slaves"),
        calls_per_s=_whole(info, "instantaneous_ops_per_sec"),
        memory=_memory(info) if "used_memory" in info else None,
        persistence=_persistence(info, fsync) if "aof_enabled" in info else None,
        latency_ms=took * 1000,
        clock_ahead_ms=_ahead(clock, before + took / 2),
        slow=None if slow is None else slow_calls(slow),
        refused=tuple(refused),
    )


def _info(reply: Any) -> Mapping[str, Any]:
    return reply if isinstance(reply, Mapping) else {}


def _software(info: Mapping[str, Any]) -> str | None:
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info['redis_version']}" if "redis_version" in info else None


def _memory(info: Mapping[str, Any]) -> Memory:
    return Memory(
        used=_whole(info, "used_memory"),
        peak=_whole(info, "used_memory_peak"),
        limit=_whole(info, "maxmemory") or None,
        policy=str(info.get("maxmemory_policy", "unknown")),
        evicted=_whole(info, "evicted_keys"),
    )


def _persistence(info: Mapping[str, Any], fsync: str | None) -> Persistence:
    saved = _whole(info, "rdb_last_save_time")
    return Persistence(
        append_only=_whole(info, "aof_enabled") == 1,
        append_ok=info.get("aof_last_write_status", "ok") == "ok",
        fsync=fsync,
        snapshot_ok=info.get("rdb_last_bgsave_status", "ok") == "ok",
        saved_at=datetime.fromtimestamp(saved, UTC) if saved else None,
        changes_since=_whole(info, "rdb_changes_since_last_save"),
    )


def _whole(info: Mapping[str, Any], name: str) -> int:
    value = info.get(name, 0)
    return value if isinstance(value, int) else 0


def _setting(reply: Any, name: str) -> str | None:
    """CONFIG GET answers pairs, or a flat list of them."""
    if isinstance(reply, Sequence) and not isinstance(reply, str | bytes):
        reply = dict(zip(reply[::2], reply[1::2], strict=False))
    found = reply.get(name.encode(), reply.get(name)) if isinstance(reply, Mapping) else None
    return found.decode("ascii", "replace") if isinstance(found, bytes) else found


def _ahead(clock: Any, ours: float) -> float | None:
    with suppress(TypeError, ValueError):
        seconds, micros = clock
        return (int(seconds) + int(micros) / 1e6 - ours) * 1000
    return None


def slow_calls(reply: Sequence[Any]) -> tuple[SlowCall, ...]:
    """The newest first. Arguments are never taken over: they hold payloads."""
    calls = []
    for entry in reply:
        with suppress(TypeError, ValueError, IndexError, OverflowError):
            at = datetime.fromtimestamp(int(entry[1]), UTC)
            calls.append(SlowCall(at, int(entry[2]) / 1000, _what(entry[3])))
    return tuple(sorted(calls, key=lambda call: call.at, reverse=True))


def _what(words: Sequence[bytes]) -> str:
    verb = words[0].decode("ascii", "replace").upper()
    if verb in ("EVALSHA", "EVALSHA_RO") and len(words) > 1:
        return _script_names().get(words[1].decode("ascii", "replace"), "another script")
    if verb in ("EVAL", "EVAL_RO", "FCALL"):
        return "another script"
    return verb[:40]


@cache
def _script_names() -> Mapping[str, str]:
    return {script.sha: script.name for script in (ENGINE.load(name) for name in ENGINE.names())}
