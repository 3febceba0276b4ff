"""Bulk operations as they are asked for and shown."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins

from leaseforge import limits
from leaseforge.bulk_records import (
    BulkAction,
    BulkFilter,
    BulkGroup,
    BulkOperation,
    BulkOrder,
    BulkPace,
    BulkState,
)
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.jobs import JobState
from leaseforge_api.schemas.values import Instant, Reason, instant_or_none

Text = Annotated[str, Meta(min_length=1, max_length=limits.MAX_KEY_BYTES)]


class GroupOf(Struct, frozen=True, forbid_unknown_fields=True):
    """A group of dead jobs: `queue` and `key` of `GET /api/dlq/groups`."""

    queue: Text
    key: Text


class FilterRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which jobs: all that is given must hold, and something must be given. At most 1,000 `ids`.

    `state` is one, `states` are some of which each will do. `group` is a key of `GET /api/dlq/groups`, `groups` are
    some of which each will do. `operation` acted on the jobs last; `error` is looked for in the last error, whatever
    the case. Times have a zone: from `since` on, until just before `until`.
    """

    queue: str | None = None
    state: JobState | None = None
    states: Annotated[list[JobState], Meta(min_length=1, max_length=len(JobState))] | None = None
    group: Text | None = None
    groups: Annotated[list[GroupOf], Meta(min_length=1, max_length=limits.MAX_OPERATION_GROUPS)] | None = None
    operation: Text | None = None
    type: Text | None = None
    tag: Text | None = None
    error: Text | None = None
    ids: Annotated[list[str], Meta(min_length=1, max_length=limits.MAX_OPERATION_IDS)] | None = None
    created_since: datetime | None = None
    created_until: datetime | None = None
    finished_since: datetime | None = None
    finished_until: datetime | None = None


class BulkOperationRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An action on all jobs that match now. None is touched before the operation is run.

    `stop_at_failure_rate` is for retry and requeue: the operation stops by itself when a larger share of the jobs
    it let run once more failed again.
    """

    action: BulkAction
    filter: FilterRequest
    reason: Reason | None = None
    rate_per_second: Annotated[int, Meta(ge=1, le=limits.MAX_OPERATION_RATE)] = 1000
    stop_at_failure_rate: Annotated[float, Meta(ge=0, le=1)] | None = None


class BulkStep(Struct, frozen=True, forbid_unknown_fields=True):
    """Why it is done, for the log; may be left out."""

    reason: Reason | None = None


class BulkRun(Struct, frozen=True, forbid_unknown_fields=True):
    """Why it is run, and at what pace from now on: without `rate_per_second` at the one it has.

    With one, `stop_at_failure_rate` is as given here; left out, nothing stops it.
    """

    reason: Reason | None = None
    rate_per_second: Annotated[int, Meta(ge=1, le=limits.MAX_OPERATION_RATE)] | None = None
    stop_at_failure_rate: Annotated[float, Meta(ge=0, le=1)] | None = None


class FilterShown(Struct, frozen=True, omit_defaults=True):
    """The filter as it was asked for; what was left out is left out."""

    queue: str | None = None
    state: JobState | None = None
    states: list[JobState] | None = None
    group: str | None = None
    groups: list[GroupOf] | None = None
    operation: str | None = None
    type: str | None = None
    tag: str | None = None
    error: str | None = None
    ids: list[str] | None = None
    created_since: Instant | None = None
    created_until: Instant | None = None
    finished_since: Instant | None = None
    finished_until: Instant | None = None


class Skipped(Struct, frozen=True):
    """Jobs passed over: changed since they were written down, or gone."""

    changed: int
    gone: int


class BulkCountsShown(Struct, frozen=True):
    """Of `total` jobs so many were acted on, passed over, could not be acted on (by kind), are left."""

    total: int
    done: int
    skipped: Skipped
    failed: dict[str, int]
    left: int


class OutcomesShown(Struct, frozen=True):
    """What became of jobs it let run once more, of those that were watched."""

    completed: int
    failed_again: int


class SampledJob(Struct, frozen=True):
    """One of the first 20 jobs."""

    id: str
    queue: str
    type: str


class BulkOperationShown(Struct, frozen=True):
    """A bulk operation. It is about what was there at `created_at`, nothing that came later.

    While it collects `counts.total` grows; from `ready` on total and sample are exact. `cut`: more jobs may match
    than the 1,000,000 one operation can be about. `error` says why it failed or stopped by itself.
    """

    id: str
    action: BulkAction
    filter: FilterShown
    state: BulkState
    reason: str | None
    created_by: str
    rate_per_second: int
    stop_at_failure_rate: float | None
    counts: BulkCountsShown
    searched: int
    cut: bool
    outcomes: OutcomesShown
    sample: list[SampledJob]
    queues: list[str]
    runs: int
    run_by: str | None
    run_reason: str | None
    error: str | None
    created_at: Instant | None
    ready_at: Instant | None
    started_at: Instant | None
    ended_at: Instant | None


def order_from(asked: BulkOperationRequest, *, created_by: str) -> BulkOrder:
    """The engine's order for a request."""
    wanted = asked.filter
    return BulkOrder(
        action=asked.action,
        filter=BulkFilter(
            queue=wanted.queue,
            state=wanted.state,
            states=tuple(dict.fromkeys(wanted.states)) if wanted.states is not None else None,
            group=wanted.group,
            groups=_groups_from(wanted.groups),
            operation=wanted.operation,
            type=wanted.type,
            tag=wanted.tag,
            error=wanted.error,
            ids=tuple(dict.fromkeys(wanted.ids)) if wanted.ids is not None else None,
            created_since=wanted.created_since,
            created_until=wanted.created_until,
            finished_since=wanted.finished_since,
            finished_until=wanted.finished_until,
        ),
        created_by=created_by,
        reason=asked.reason or "",
        rate_per_second=asked.rate_per_second,
        stop_at_failure_rate=asked.stop_at_failure_rate,
    )


def _groups_from(asked: list[GroupOf] | None) -> tuple[BulkGroup, ...] | None:
    return None if asked is None else tuple(dict.fromkeys(BulkGroup(one.queue, one.key) for one in asked))


def pace_from(asked: BulkRun) -> BulkPace | None:
    """The engine's pace for a request; None where it says nothing. Raises BadInput for half of one."""
    if asked.rate_per_second is not None:
        return BulkPace(asked.rate_per_second, asked.stop_at_failure_rate)
    if asked.stop_at_failure_rate is not None:
        raise BadInput([FieldProblem("rate_per_second", "must be given with stop_at_failure_rate")])
    return None


def operation_shown(operation: BulkOperation) -> BulkOperationShown:
    """An operation as answers show it."""
    order, counts = operation.order, operation.counts
    return BulkOperationShown(
        id=operation.id,
        action=order.action,
        filter=_filter_shown(order.filter),
        state=operation.state,
        reason=order.reason or None,
        created_by=order.created_by,
        rate_per_second=order.rate_per_second,
        stop_at_failure_rate=order.stop_at_failure_rate,
        counts=BulkCountsShown(
            total=counts.total,
            done=counts.done,
            skipped=Skipped(counts.changed, counts.gone),
            failed=dict(counts.failed),
            left=counts.total - counts.taken,
        ),
        searched=counts.searched,
        cut=operation.is_cut,
        outcomes=OutcomesShown(counts.well, counts.again),
        sample=[SampledJob(job.id, job.queue, job.type) for job in operation.sample],
        queues=list(operation.queues),
        runs=operation.run,
        run_by=operation.run_by,
        run_reason=operation.run_reason or None,
        error=operation.error or None,
        created_at=instant_or_none(operation.created_at),
        ready_at=instant_or_none(operation.ready_at),
        started_at=instant_or_none(operation.started_at),
        ended_at=instant_or_none(operation.ended_at),
    )


def filter_noted(wanted: BulkFilter) -> dict[str, Any]:
    """A filter for the audit trail, which keeps small facts: of ids and groups only how many."""
    noted: dict[str, Any] = to_builtins(_filter_shown(wanted))
    lists = {name: len(listed) for name in ("ids", "groups") if (listed := getattr(wanted, name)) is not None}
    return noted | lists


def _filter_shown(wanted: BulkFilter) -> FilterShown:
    return FilterShown(
        queue=wanted.queue,
        state=wanted.state,
        states=list(wanted.states) if wanted.states is not None else None,
        group=wanted.group,
        groups=None if wanted.groups is None else [GroupOf(one.queue, one.group) for one in wanted.groups],
        operation=wanted.operation,
        type=wanted.type,
        tag=wanted.tag,
        error=wanted.error,
        ids=list(wanted.ids) if wanted.ids is not None else None,
        created_since=instant_or_none(wanted.created_since),
        created_until=instant_or_none(wanted.created_until),
        finished_since=instant_or_none(wanted.finished_since),
        finished_until=instant_or_none(wanted.finished_until),
    )
