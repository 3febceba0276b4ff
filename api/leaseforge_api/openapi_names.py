"""What operations and their groups are called in the OpenAPI document.

Each route says its `summary`; the operation's id, after which generated clients name their calls, is made of it.
"""

import re
from collections.abc import Mapping
from typing import Final

from litestar.exceptions import ImproperlyConfiguredException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Tag

_WORD: Final = re.compile(r"[a-z0-9]+")
_LEFT_OUT: Final = frozenset({"a", "an", "the", "your"})

_GROUPS: Final[Mapping[str, str]] = {
    "jobs": "Requests to run a task: enqueue them, look for them, and act on one. Many at a time: `bulk`.",
    "queues": "Named lines of jobs: how full they are and how fast, their limits, pause, resume, purge.",
    "delayed": "Jobs that wait for their time: a start their producer chose, or the next attempt after a failure.",
    "dlq": "The dead-letter queue: jobs that used up their attempts, kept until somebody retries or deletes them.",
    "bulk": "Bulk operations: one action on all jobs that match a filter. An operation is counted first, touches "
    "nothing until it is run, and can be paused, run on, and aborted.",
    "workers": "The processes that run jobs: who is there, what they run, and what they are told to do.",
    "metrics": "Figures over time for charts. Prometheus reads `/metrics`, which is not part of this API.",
    "events": "What changes, as a stream of server-sent events, for programs that would otherwise ask again and again.",
    "system": "The installation as a whole: its version, its totals, and what is wrong with it.",
    "audit": "The audit trail: who changed what, when, and how it ended.",
    "auth": "Logging in, with a password or by single sign-on, and one's own account.",
    "sessions": "One's own browser sessions, and the end of everything one was handed out.",
    "tokens": "API tokens: long-lived credentials of programs, for a person or for a service.",
    "users": "Accounts: who may log in, and with which roles.",
    "taskforge": "TaskForge's paths, for programs written for it: its fields and status words, with a bearer token.",
}
TAGS: Final = [Tag(name=name, description=text) for name, text in _GROUPS.items()]
"""The groups of operations, in the order they are shown."""


def operation_id(handler: HTTPRouteHandler, _method: object, _path: object) -> str:
    """`retry_dead_job` of the summary "Retry a dead job". Raises ImproperlyConfiguredException where there is none.

    To word a summary anew and keep the calls of generated clients, give the route its `operation_id`.
    """
    if not handler.summary:
        raise ImproperlyConfiguredException(f"{handler}: a route of the API needs a summary")
    words = _WORD.findall(handler.summary.lower().replace("'s ", " "))
    return "_".join(word for word in words if word not in _LEFT_OUT)
