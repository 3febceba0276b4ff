"""Every key name. All keys of a queue share a hash tag, so that one script may touch them in Redis Cluster."""

from functools import lru_cache

QUEUE_KEYS = frozenset(
    {
        "guard",
        "meta",
        "counts",
        "ready",
        "running",
        "scheduled",
        "retrying",
        "completed",
        "cancelled",
        "dead",
        "dead:groups",
        "outbox",
        "types",
        "wake",
    }
)
"""Keys each queue has one of. `guard` never exists: see lua/_queue.lua."""

SYSTEM = "sys"
"""The hash tag of what belongs to no queue; refused as a queue's name."""

FORMS = "forms"
"""What payloads look like, by type."""
FORMS_PUBLISHED = "forms-published"

LAYOUT_VERSION = 1
"""Changes when programs of two versions could no longer work on one store."""


@lru_cache(maxsize=65_536)
def queue_key(queue: str, name: str) -> str:
    """The key `name` of a queue, such as lf:{mail}:ready."""
    return f"lf:{{{queue}}}:{name}"


def claim_key(queue: str, run_id: str) -> str:
    """Where a worker's last claim is kept, for an exchange whose reply was lost."""
    return f"lf:{{{queue}}}:claim:{run_id}"


def system_key(name: str) -> str:
    """A key that belongs to no queue, such as lf:{sys}:workers."""
    return f"lf:{{{SYSTEM}}}:{name}"


def bulk_key(queue: str, operation_id: str, part: str = "") -> str:
    """A queue's part of a bulk operation, or what belongs to it: `chosen`, `seen`, `watched`."""
    return queue_key(queue, f"bulk:{operation_id}" + (f":{part}" if part else ""))


def worker_key(worker_id: str) -> str:
    """The last report of a worker."""
    return system_key(f"worker:{worker_id}")


def worker_command_key(worker_id: str) -> str:
    """What operators want of a worker."""
    return system_key(f"command:{worker_id}")
