"""Queues as producers and operators know them: their names and what they hold."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from leaseforge import limits
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
class QueueLimits:
    """What a queue keeps to; None means it has no limit of its own.

    `max_running` jobs at a time over all workers; `rate` claims per second with up to `burst` saved
    up; completed and cancelled jobs are kept `keep_ms` and at most `keep` of each, dead ones
    `dead_keep_ms` and at most `dead_keep`.
    """

    max_running: int | None = None
    rate: float | None = None
    burst: int | None = None
    keep_ms: int | None = None
    keep: int | None = None
    dead_keep_ms: int | None = None
    dead_keep: int | None = None


LIMIT_NAMES = ("max_running", "rate", "burst", "keep_ms", "keep", "dead_keep_ms", "dead_keep")
"""In the order of the configure script's arguments."""

LIMIT_BOUNDS: Mapping[str, tuple[float, float]] = {
    "max_running": (1, 1_000_000),
    "rate": (0.001, limits.MAX_RATE),
    "burst": (1, limits.MAX_RATE),
    "keep_ms": (60_000, 365 * 86_400_000),
    "keep": (0, 10_000_000),
    "dead_keep_ms": (60_000, 10 * 365 * 86_400_000),
    "dead_keep": (0, 10_000_000),
}
"""Least and most of each."""


def check_limits(changes: Mapping[str, float | None]) -> Mapping[str, float | None]:
    """Returns valid changes of limits as they are; raises BadInput naming every wrong one."""
    problems = []
    for name, value in changes.items():
        bounds = LIMIT_BOUNDS.get(name)
        if bounds is None:
            problems.append(FieldProblem(name, f"is no limit; there are {', '.join(LIMIT_NAMES)}"))
        elif value is not None and not _is_within(value, bounds, whole=name != "rate"):
            kind = "a number" if name == "rate" else "a whole number"
            problems.append(FieldProblem(name, f"must be {kind} from {bounds[0]:,} to {bounds[1]:,}"))
    if problems:
        raise BadInput(problems)
    return changes


def _is_within(value: object, bounds: tuple[float, float], *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return False
    return bounds[0] <= value <= bounds[1]


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue at one instant.

    `sequence` and `as_of_ms` (Redis time) freeze what a purge may remove: what an operator was
    shown, nothing later. `totals` count transitions since the queue began. `foreign_keys` are keys of
    the queue that hold something of another type: what they should tell is shown as empty.
    """

    name: str
    paused: bool
    counts: Mapping[JobState, int]
    oldest_ready_s: float | None
    totals: Mapping[str, int]
    sequence: int
    as_of_ms: int
    limits: QueueLimits = QueueLimits()
    foreign_keys: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """All jobs the queue holds, ended ones that are still kept included."""
        return sum(self.counts.values())
