"""The four roles and what each one allows."""

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

from leaseforge_auth.permissions import Permission


class Role(StrEnum):
    """Who somebody is to Leaseforge: looks on, is on call, submits jobs, or runs the place."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    PRODUCER = "producer"
    ADMIN = "admin"


_VIEWER = frozenset(
    {
        Permission.SYSTEM_READ,
        Permission.QUEUES_READ,
        Permission.JOBS_READ,
        Permission.WORKERS_READ,
        Permission.DLQ_READ,
        Permission.DELAYED_READ,
        Permission.SCHEDULES_READ,
        Permission.METRICS_READ,
    }
)
_OPERATOR = _VIEWER | {
    Permission.PAYLOADS_READ,
    Permission.JOBS_ENQUEUE,
    Permission.JOBS_WRITE,
    Permission.DLQ_WRITE,
    Permission.DELAYED_WRITE,
    Permission.QUEUES_WRITE,
    Permission.WORKERS_WRITE,
    Permission.SCHEDULES_WRITE,
}

ALLOWED: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.OPERATOR: _OPERATOR,
    Role.PRODUCER: frozenset({Permission.JOBS_ENQUEUE, Permission.JOBS_READ_OWN}),
    Role.ADMIN: frozenset(Permission),
}


def permissions_of(roles: Iterable[Role]) -> frozenset[Permission]:
    """Everything these roles allow together; nothing for no roles."""
    return _allowed(tuple(roles))


@lru_cache(256)
def _allowed(roles: tuple[Role, ...]) -> frozenset[Permission]:
    """Asked with every request."""
    return frozenset[Permission]().union(*(ALLOWED[role] for role in roles))
