"""Queues as producers and operators know them: their names and what they hold."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from leaseforge.errors import BadInput, FieldProblem
from leaseforge.jobs import JobState
from leaseforge.keys import SYSTEM

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def queue_name_problem(name: object) -> str | None:
    """Why `name` cannot be a queue's name, or None. The name becomes part of every key of the queue."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "must be 1 to 64 of the characters A-Z a-z 0-9 . _ -"
    if name == SYSTEM:
        return f"'{SYSTEM}' is reserved"
    return None


def check_queue_name(name: str) -> str:
    """Returns a valid queue name as it is; raises BadInput for any other."""
    problem = queue_name_problem(name)
    if problem:
        raise BadInput([FieldProblem("queue", problem)])
    return name


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue at one instant.

    `sequence` and `as_of_ms` (Redis time) freeze what a purge may remove: what an operator was
    shown, nothing later. `totals` count transitions since the queue began.
    """

    name: str
    paused: bool
    counts: Mapping[JobState, int]
    oldest_ready_s: float | None
    totals: Mapping[str, int]
    sequence: int
    as_of_ms: int

    @property
    def size(self) -> int:
        """All jobs the queue holds, ended ones that are still kept included."""
        return sum(self.counts.values())
