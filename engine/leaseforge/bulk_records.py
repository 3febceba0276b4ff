"""Bulk operations as values: what is asked for, and how far one is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from leaseforge.bulk_calls import Part
from leaseforge.jobs import JobState


class BulkAction(StrEnum):
    """What is done to each job; what the single action of that name does."""

    RETRY = "retry"
    REQUEUE = "requeue"
    CANCEL = "cancel"
    DELETE = "delete"
    PROMOTE = "promote"


STATES: Mapping[BulkAction, tuple[JobState, ...]] = {
    BulkAction.RETRY: (JobState.DEAD,),
    BulkAction.REQUEUE: (JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD),
    BulkAction.CANCEL: (JobState.SCHEDULED, JobState.RETRYING, JobState.READY, JobState.RUNNING),
    BulkAction.DELETE: tuple(state for state in JobState if state is not JobState.RUNNING),
    BulkAction.PROMOTE: (JobState.SCHEDULED, JobState.RETRYING),
}
"""States whose jobs an action can do something to."""

REPLAYS = (BulkAction.RETRY, BulkAction.REQUEUE)
"""Actions after which jobs run once more, so that some may fail again."""


class BulkState(StrEnum):
    """How far an operation is. Done, aborted and failed are ends."""

    COLLECTING = "collecting"
    """The jobs are being written down; none is touched."""
    READY = "ready"
    """Counted: waits to be run."""
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    """Stopped by itself: too many of the jobs failed again. It may be run on, or aborted."""
    DONE = "done"
    ABORTED = "aborted"
    FAILED = "failed"
    """A fault inside Redis keeps it from going on."""

    @property
    def is_over(self) -> bool:
        """Whether nothing can be done with it any more."""
        return self in (BulkState.DONE, BulkState.ABORTED, BulkState.FAILED)


@dataclass(frozen=True, slots=True)
class BulkGroup:
    """A group of dead jobs: those of one queue that failed alike."""

    queue: str
    group: str


@dataclass(frozen=True, slots=True)
class BulkFilter:
    """Which jobs: all that is set must hold. Times: from `since` on, until just before `until`.

    `state` is one, `states` are some of which each will do. `group` is a key of dead groups, `groups` are some of
    which each will do. `operation` is the operator's action that acted on a job last; `error` is looked for in
    the last error and in the reason of dead jobs, whatever the case of A to Z; `finished_*` match ended jobs only.
    """

    queue: str | None = None
    state: JobState | None = None
    states: tuple[JobState, ...] | None = None
    group: str | None = None
    groups: tuple[BulkGroup, ...] | None = None
    operation: str | None = None
    type: str | None = None
    tag: str | None = None
    error: str | None = None
    ids: tuple[str, ...] | None = None
    created_since: datetime | None = None
    created_until: datetime | None = None
    finished_since: datetime | None = None
    finished_until: datetime | None = None

    @property
    def named_queues(self) -> tuple[str, ...]:
        """The queues its jobs can only be of; none named: any."""
        if self.groups is None:
            return (self.queue,) if self.queue is not None else ()
        return tuple(dict.fromkeys(one.queue for one in self.groups if self.queue in (None, one.queue)))

    def groups_of(self, queue: str) -> tuple[str, ...] | None:
        """The dead groups of a queue its jobs are in; None if they need not be in one."""
        if self.groups is None:
            return None if self.group is None else (self.group,)
        named = dict.fromkeys(one.group for one in self.groups if one.queue == queue)
        return tuple(group for group in named if self.group in (None, group))

    def states_for(self, action: BulkAction) -> tuple[JobState, ...]:
        """The states the action's jobs are looked for in."""
        dead_only = self.group is not None or self.groups is not None
        return tuple(
            state
            for state in STATES[action]
            if self.state in (None, state)
            and (self.states is None or state in self.states)
            and (not dead_only or state is JobState.DEAD)
        )


@dataclass(frozen=True, slots=True)
class BulkOrder:
    """What is asked for. At most `rate_per_second` jobs are acted on each second.

    With `stop_at_failure_rate` (0 to 1, retry and requeue only) the operation stops by itself when a larger share of
    the jobs it let run once more failed again.
    """

    action: BulkAction
    filter: BulkFilter
    created_by: str
    reason: str = ""
    rate_per_second: int = 1000
    stop_at_failure_rate: float | None = None
    about: str = ""
    """What the jobs have in common, in words, for whoever looks on when they are gone."""

    def may_meet(self, other: "BulkOrder") -> bool:
        """Whether there can be a job that both are about."""
        mine, others = self.filter, other.filter
        apart = any(
            getattr(mine, name) not in (None, getattr(others, name)) and getattr(others, name) is not None
            for name in ("queue", "group", "type")
        )
        if apart or not _groups_meet(mine, others):
            return False
        if not set(mine.states_for(self.action)) & set(others.states_for(other.action)):
            return False
        return mine.ids is None or others.ids is None or not set(mine.ids).isdisjoint(others.ids)


def _groups_meet(mine: BulkFilter, others: BulkFilter) -> bool:
    """Whether there can be a queue with a group that both name."""
    if mine.groups is None and others.groups is None:
        return True
    named = (mine.named_queues, others.named_queues)
    for queue in {*named[0], *named[1]}:
        if all(queue in names or not names for names in named):
            both = mine.groups_of(queue), others.groups_of(queue)
            if None in both or set(both[0] or ()) & set(both[1] or ()):
                return True
    return False


@dataclass(frozen=True, slots=True)
class BulkPace:
    """How fast a run goes and when it stops by itself, as in an order."""

    rate_per_second: int
    stop_at_failure_rate: float | None = None


@dataclass(frozen=True, slots=True)
class BulkCounts:
    """Of `total` jobs `done` were acted on; `changed` (since they were written down) and `gone` ones were passed over.

    `failed` counts by kind those that could not be acted on. `well` and `again` are outcomes of jobs it let run once
    more, as far as they were watched: completed, or failed again.
    """

    total: int = 0
    searched: int = 0
    done: int = 0
    changed: int = 0
    gone: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    well: int = 0
    again: int = 0

    @property
    def taken(self) -> int:
        """Jobs it is through with, whatever came of them."""
        return self.done + self.changed + self.gone + sum(self.failed.values())


@dataclass(frozen=True, slots=True)
class BulkSample:
    """One of the first jobs an operation is about."""

    id: str
    queue: str
    type: str


@dataclass(frozen=True, slots=True)
class BulkOperation:
    """An operation as it stands. `created_at` is the moment it froze; `run` counts how often it was started.

    The last run began at `run_at`, with `run_from` jobs taken before it. `is_cut`: more jobs may match than one
    operation can be about. `error` says why it failed or stopped. `queues` are those it found jobs in.
    """

    id: str
    order: BulkOrder
    state: BulkState
    counts: BulkCounts
    is_cut: bool
    sample: tuple[BulkSample, ...]
    queues: tuple[str, ...]
    run: int
    run_by: str | None
    run_reason: str
    run_at: datetime | None
    run_from: int
    reported: int
    error: str
    created_at: datetime | None
    ready_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    ended_by: str | None
    as_of_ms: int


def sum_of(parts: Iterable[Part], *, searched: int = 0) -> BulkCounts:
    """What the parts of all queues come to. `searched`: what is known to have been looked at anyway."""
    every = list(parts)
    failed: dict[str, int] = {}
    for part in every:
        for kind, n in part.failed:
            failed[kind] = failed.get(kind, 0) + n
    return BulkCounts(
        total=sum(part.found for part in every),
        searched=max(searched, sum(part.searched for part in every)),
        done=sum(part.done for part in every),
        changed=sum(part.changed for part in every),
        gone=sum(part.gone for part in every),
        failed=failed,
        well=sum(part.well for part in every),
        again=sum(part.again for part in every),
    )
