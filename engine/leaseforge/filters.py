"""What is looked for among the jobs, and its bounds."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from leaseforge import limits
from leaseforge.calls import Arg
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.jobs import JobState
from leaseforge.queues import queue_name_problem

ALL_STATES = tuple(JobState)
ENDED = frozenset({JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD})
"""States only an operator leads out of."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Jobs that match everything that is set. Instants are Unix ms; `before` ones are not included.

    `error` is looked for in the last error and in the reason of dead jobs, whatever the case of A to Z.
    `group` is a dead group's key: it leaves dead jobs only. `operation` is the operator's action that acted on a job
    last, such as a bulk operation's id.
    """

    queue: str | None = None
    states: tuple[JobState, ...] = ALL_STATES
    group: str | None = None
    type: str | None = None
    tag: str | None = None
    created_by: str | None = None
    error: str | None = None
    operation: str | None = None
    priority_from: int | None = None
    priority_to: int | None = None
    created_from: int | None = None
    created_before: int | None = None
    finished_from: int | None = None
    finished_before: int | None = None

    @property
    def is_exact(self) -> bool:
        """Whether sets answer it alone, without a look at each record."""
        return not any(value not in ("", b"") for _, value in self.words())

    @property
    def possible_states(self) -> tuple[JobState, ...]:
        """The asked states in which a job can match: only what has ended has an end."""
        has_end = self.finished_from is not None or self.finished_before is not None
        return tuple(state for state in self.states if state in ENDED) if has_end else self.states

    def words(self) -> tuple[tuple[str, Arg], ...]:
        """The script's arguments, in its order."""
        return (
            ("type", self.type or ""),
            ("tag", "" if self.tag is None else msgspec.json.encode(self.tag)),
            ("created_by", self.created_by or ""),
            ("words", (self.error or "").encode().lower()),
            ("priority_from", _number(self.priority_from)),
            ("priority_to", _number(self.priority_to)),
            ("created_from", _number(self.created_from)),
            ("created_before", _number(self.created_before)),
            ("finished_from", _number(self.finished_from)),
            ("finished_before", _number(self.finished_before)),
            ("operation", self.operation or ""),
        )

    def first_score(self, state: JobState) -> int | None:
        """The score in the state's set before which nothing can match; None if anything can."""
        if state is JobState.READY and self.priority_to is not None:
            return -self.priority_to
        return self.finished_before if state in ENDED else None

    def last_score(self, state: JobState) -> int | None:
        """The score behind which nothing can match; None if anything can."""
        if state is JobState.READY and self.priority_from is not None:
            return -self.priority_from
        return self.finished_from if state in ENDED else None


def checked(asked: Filter) -> Filter:
    """Returns a filter that breaks no rule as it is; raises BadInput naming every wrong field."""
    problems = list(_problems(asked))
    if problems:
        raise BadInput(problems)
    return asked


def _problems(asked: Filter) -> Iterator[FieldProblem]:
    if asked.queue is not None and (problem := queue_name_problem(asked.queue)):
        yield FieldProblem("queue", problem)
    if not asked.states or not all(isinstance(state, JobState) for state in asked.states):
        yield FieldProblem("state", f"must be one or more of {', '.join(JobState)}")
    elif asked.group is not None and asked.states != (JobState.DEAD,):
        yield FieldProblem("group", "groups are of dead jobs: no other state goes with it")
    bounds = (
        ("group", asked.group, limits.MAX_GROUP_BYTES),
        ("type", asked.type, limits.MAX_TYPE_BYTES),
        ("tag", asked.tag, limits.MAX_TAG_BYTES),
        ("created_by", asked.created_by, limits.MAX_KEY_BYTES),
        ("error", asked.error, limits.MAX_KEY_BYTES),
        ("operation", asked.operation, limits.MAX_OPERATION_BYTES),
    )
    for name, text, most in bounds:
        if text is not None and not 0 < _size(text) <= most:
            yield FieldProblem(name, f"must be text of 1 to {most} bytes")
    numbers = ("priority_from", "priority_to", "created_from", "created_before", "finished_from", "finished_before")
    for name in numbers:
        value = getattr(asked, name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or abs(value) > _EXACT):
            yield FieldProblem(name, "must be a whole number below 2^53")


def _size(text: object) -> int:
    """Bytes of a text in UTF-8; 0 for what is none."""
    try:
        return len(text.encode()) if isinstance(text, str) else 0
    except UnicodeEncodeError:
        return 0


def _number(value: int | None) -> Arg:
    return "" if value is None else value


_EXACT = 2**53
