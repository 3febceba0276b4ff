"""What roles allow, in words."""

from collections.abc import Iterable
from dataclasses import dataclass

from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role

# In the order in which an operator meets them: what it is about, and what may be done.
WORDS: dict[Permission, tuple[str, str]] = {
    Permission.QUEUES_READ: ("Queues", "see them"),
    Permission.QUEUES_WRITE: ("Queues", "pause, resume, purge, set limits"),
    Permission.JOBS_READ: ("Jobs", "see them"),
    Permission.JOBS_READ_OWN: ("Jobs", "see those one has submitted"),
    Permission.JOBS_ENQUEUE: ("Jobs", "submit"),
    Permission.JOBS_WRITE: ("Jobs", "retry, requeue, cancel, delete"),
    Permission.PAYLOADS_READ: ("Payloads", "read, secrets masked"),
    Permission.PAYLOADS_REVEAL: ("Payloads", "reveal what is masked"),
    Permission.DELAYED_READ: ("Delayed jobs", "see them"),
    Permission.DELAYED_WRITE: ("Delayed jobs", "promote, cancel"),
    Permission.DLQ_READ: ("Dead letters", "see them"),
    Permission.DLQ_WRITE: ("Dead letters", "retry, delete, purge"),
    Permission.WORKERS_READ: ("Workers", "see them"),
    Permission.WORKERS_WRITE: ("Workers", "quiet, resume, stop"),
    Permission.SCHEDULES_READ: ("Schedules", "see them"),
    Permission.SCHEDULES_WRITE: ("Schedules", "change"),
    Permission.METRICS_READ: ("Metrics", "see them"),
    Permission.SYSTEM_READ: ("System", "see its state"),
    Permission.USERS_READ: ("Users", "see them"),
    Permission.USERS_WRITE: ("Users", "create, change, disable, delete"),
    Permission.TOKENS_READ: ("API tokens", "see everybody's"),
    Permission.TOKENS_WRITE: ("API tokens", "make service tokens, revoke everybody's"),
    Permission.AUDIT_READ: ("Audit trail", "read and export"),
}
ROLES: dict[Role, str] = {
    Role.VIEWER: "Looks on: sees queues, jobs, workers and charts, no payloads.",
    Role.OPERATOR: "Is on call: sees payloads, too, and may retry, cancel, pause, purge and stop.",
    Role.PRODUCER: "Submits jobs and sees its own; for programs.",
    Role.ADMIN: "Runs the place: everything, with users, tokens, audit and masked values.",
}


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be done about one thing."""

    about: str
    what: str


def in_words(permissions: Iterable[Permission]) -> tuple[Allowed, ...]:
    """Permissions as sentences, one for each thing they are about."""
    held = set(permissions)
    if Permission.JOBS_READ in held:
        held.discard(Permission.JOBS_READ_OWN)
    told: dict[str, list[str]] = {}
    for permission, (about, what) in WORDS.items():
        if permission in held:
            told.setdefault(about, []).append(what)
    return tuple(Allowed(about, "; ".join(what)) for about, what in told.items())
