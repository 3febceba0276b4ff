"""Bulk operations in an operator's words: what is done, to which jobs, and how far it is."""

from dataclasses import dataclass

from leaseforge.bulk_records import BulkAction, BulkOperation, BulkOrder, BulkState
from leaseforge.jobs import JobState
from leaseforge_console.filters import exact, plural

DELAYED = (JobState.SCHEDULED, JobState.RETRYING)


@dataclass(frozen=True, slots=True)
class Verb:
    """An action in its forms: `Retry` 3 jobs, 3 `retried`, `retrying` 3 jobs."""

    now: str
    done: str
    doing: str


VERBS = {
    BulkAction.RETRY: Verb("Retry", "retried", "retrying"),
    BulkAction.REQUEUE: Verb("Requeue", "requeued", "requeuing"),
    BulkAction.CANCEL: Verb("Cancel", "cancelled", "cancelling"),
    BulkAction.DELETE: Verb("Delete", "deleted", "deleting"),
    BulkAction.PROMOTE: Verb("Promote", "promoted", "promoting"),
}
FAILURES = {
    "unique_key_taken": "another job holds the unique key",
    "invalid_transition": "no payload is left",
    "fault": "a fault inside Redis",
}
# The colour of a state's badge, and its sign.
_LOOKS = {
    BulkState.COLLECTING: ("scheduled", "scheduled"),
    BulkState.READY: ("ready", "ready"),
    BulkState.RUNNING: ("running", "running"),
    BulkState.PAUSED: ("paused", "paused"),
    BulkState.STOPPED: ("dead", "warn"),
    BulkState.DONE: ("completed", "completed"),
    BulkState.ABORTED: ("cancelled", "cancelled"),
    BulkState.FAILED: ("dead", "dead"),
}
_STATE_WORDS = {BulkState.COLLECTING: "counting", BulkState.READY: "not started"}


@dataclass(frozen=True, slots=True)
class StateBadge:
    """How far an operation is, as a badge."""

    word: str
    tone: str
    icon: str


def state_badge(operation: BulkOperation) -> StateBadge:
    """The badge of an operation's state."""
    state = operation.state
    tone, icon = _LOOKS[state]
    dropped = state is BulkState.ABORTED and not operation.run
    return StateBadge("dropped" if dropped else _STATE_WORDS.get(state, state.value), tone, icon)


def noun(order: BulkOrder) -> str:
    """What its jobs are called."""
    wanted = order.filter
    if wanted.group is not None or wanted.groups is not None or order.action is BulkAction.RETRY:
        return "dead job"
    if wanted.state is not None:
        return f"{wanted.state} job"
    return "delayed job" if wanted.states == DELAYED or order.action is BulkAction.PROMOTE else "job"


def jobs_of(operation: BulkOperation) -> str:
    """`306 dead jobs`."""
    return plural(operation.counts.total, noun(operation.order))


def title(operation: BulkOperation) -> str:
    """`Retry 306 dead jobs`; without the number while that is not known."""
    verb = VERBS[operation.order.action].now
    if operation.state is BulkState.COLLECTING:
        return f"{verb} {noun(operation.order)}s"
    return f"{verb} {jobs_of(operation)}"


def scope(order: BulkOrder) -> tuple[tuple[str, str], ...]:
    """What the jobs have in common, as label and value."""
    wanted = order.filter
    rows = [("Queue", ", ".join(wanted.named_queues) or "all queues")]
    if wanted.group is not None:
        rows.append(("Failed with", order.about or f"the error of group {wanted.group}"))
    if wanted.groups is not None:
        rows.append(("Failed with", f"one of {plural(len(wanted.groups), 'ticked error')}"))
    if wanted.operation is not None:
        rows.append(("Last touched by", f"operation {wanted.operation[:8]}"))
    rows += [
        (label, value)
        for label, value in (("Type", wanted.type), ("Tag", wanted.tag), ("Error contains", wanted.error))
        if value is not None
    ]
    rows += [
        (label, exact(at))
        for label, at in (
            ("Created since", wanted.created_since),
            ("Created before", wanted.created_until),
            ("Ended since", wanted.finished_since),
            ("Ended before", wanted.finished_until),
        )
        if at is not None
    ]
    if wanted.ids is not None:
        rows.append(("Chosen", f"{plural(len(wanted.ids), 'job')} by hand"))
    return tuple(rows)


_PLAIN = ("Queue", "Failed with", "Chosen")


def scope_line(order: BulkOrder) -> str:
    """The same on one line."""
    return " · ".join(value if label in _PLAIN else f"{label.lower()} {value}" for label, value in scope(order))
