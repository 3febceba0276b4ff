"""What a server must be before jobs are trusted to it."""

from collections.abc import Mapping
from typing import Any

import structlog

from leaseforge.calls import Call, Replicated
from leaseforge.errors import StoreUnavailable, StoreUnsuitable
from leaseforge.events import STORE_UNSAFE
from leaseforge.keys import LAYOUT_VERSION, system_key
from leaseforge.scripts import ENGINE

OLDEST = (7, 0)


def check_report(info: Mapping[str, Any]) -> None:
    """Judges a server by its INFO. Raises StoreUnsuitable; warns where data could be lost on a restart."""
    version = str(info.get("redis_version", "0.0"))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers < OLDEST:
        raise StoreUnsuitable(f"Redis {version} is too old: 7.0 or newer is needed")
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        raise StoreUnsuitable(f"Redis may evict jobs: set maxmemory-policy to noeviction (it is {policy})")
    if info.get("role") == "slave":
        raise StoreUnsuitable("Redis is a read-only replica (role:slave): LEASEFORGE_REDIS_URL must name the primary")
    if str(info.get("aof_enabled", "1")) == "0":
        structlog.get_logger().warning(
            STORE_UNSAFE, detail="appendonly is off: jobs accepted since the last snapshot are lost on a restart"
        )


def check_confirmed(step: Replicated[Any], confirmed: int) -> None:
    """Raises StoreUnavailable if fewer replicas than asked for have what was written."""
    if confirmed < step.replicas:
        raise StoreUnavailable(
            f"{confirmed} of {step.replicas} replicas confirmed within {step.timeout_ms} ms: the outcome is "
            "unknown, the same request may safely be sent again"
        )


def layout_call() -> Call[None]:
    """Marks an empty store with our layout version, or refuses one of another version."""

    def read(raw: bytes) -> None:
        if raw.decode(errors="replace") != str(LAYOUT_VERSION):
            raise StoreUnsuitable(
                f"the data in Redis has layout version {raw.decode(errors='replace')} (key {system_key('schema')}), "
                f"this program needs {LAYOUT_VERSION}: use the matching release, or another database"
            )

    return Call(ENGINE.load("schema"), (("schema", system_key("schema")),), (("version", LAYOUT_VERSION),), read)
