"""Lists of jobs over queues and states: what may be asked for, and how a page is answered."""

from datetime import datetime
from typing import Annotated

from litestar.params import QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from leaseforge import limits
from leaseforge.filters import ALL_STATES, Filter
from leaseforge.jobs import JobState
from leaseforge.searching import Found
from leaseforge_api.schemas.job import JobShown, job_shown
from leaseforge_api.schemas.pages import Asked, OfQueue
from leaseforge_api.schemas.values import unix_ms


class JobPage(Struct, frozen=True):
    """One page of jobs. `total` is exact where queue, state and error group alone decide.

    Otherwise it is null: then `searched` of `of` jobs were looked at for this page, which may hold little and still
    lead on by `next`. `of` is null for callers who may only see their own jobs.
    """

    items: list[JobShown]
    total: int | None
    next: str | None
    searched: int | UnsetType = UNSET
    of: int | UnsetType | None = UNSET


class Moment(Struct, frozen=True, forbid_unknown_fields=True):
    """When something was read (Redis time): what a purge that is given it removes died before."""

    as_of_ms: Annotated[int, Meta(ge=0, le=2**53)]


class DeadPage(JobPage, frozen=True, kw_only=True):
    """One page of dead jobs, as of the moment `frozen`; the rest as in other lists of jobs."""

    frozen: Moment


States = Annotated[
    list[JobState] | None,
    QueryParameter(name="state", max_items=len(ALL_STATES), description="In one of these states."),
]
Group = Annotated[str | None, QueryParameter(description="Dead ones of this group (`key` in `GET /api/dlq/groups`).")]
Type = Annotated[str | None, QueryParameter(description="Of this type.")]
Tag = Annotated[str | None, QueryParameter(description="With this tag.")]
CreatedBy = Annotated[str | None, QueryParameter(description="Enqueued by this account.")]
ErrorText = Annotated[
    str | None,
    QueryParameter(description="With this text in the last error or reason, whatever the case of A to Z."),
]
LastOperation = Annotated[
    str | None, QueryParameter(description="Last acted on by this bulk operation, or by the action of this id.")
]
PriorityFrom = Annotated[int | None, QueryParameter(ge=limits.MIN_PRIORITY, description="Of this priority or higher.")]
PriorityTo = Annotated[int | None, QueryParameter(le=limits.MAX_PRIORITY, description="Of this priority or lower.")]
CreatedSince = Annotated[datetime | None, QueryParameter(description="Created at or after this instant.")]
CreatedUntil = Annotated[datetime | None, QueryParameter(description="Created before this instant.")]
FinishedSince = Annotated[datetime | None, QueryParameter(description="Ended at or after this instant.")]
FinishedUntil = Annotated[datetime | None, QueryParameter(description="Ended before this instant.")]


async def waiting_filter(
    queue: OfQueue = None,
    type: Type = None,
    tag: Tag = None,
    created_by: CreatedBy = None,
    operation: LastOperation = None,
    priority_from: PriorityFrom = None,
    priority_to: PriorityTo = None,
    created_since: CreatedSince = None,
    created_until: CreatedUntil = None,
) -> Filter:
    """Jobs that wait for their time, and match."""
    return Filter(
        queue=queue,
        states=(JobState.SCHEDULED, JobState.RETRYING),
        type=type,
        tag=tag,
        created_by=created_by,
        operation=operation,
        priority_from=priority_from,
        priority_to=priority_to,
        created_from=unix_ms(created_since),
        created_before=unix_ms(created_until),
    )


async def job_filter(
    queue: OfQueue = None,
    in_states: States = None,
    group: Group = None,
    type: Type = None,
    tag: Tag = None,
    created_by: CreatedBy = None,
    error: ErrorText = None,
    operation: LastOperation = None,
    priority_from: PriorityFrom = None,
    priority_to: PriorityTo = None,
    created_since: CreatedSince = None,
    created_until: CreatedUntil = None,
    finished_since: FinishedSince = None,
    finished_until: FinishedUntil = None,
) -> Filter:
    """Jobs that match. A group leaves dead ones only, an end ended ones."""
    otherwise = ALL_STATES if group is None else (JobState.DEAD,)
    return Filter(
        queue=queue,
        states=tuple(dict.fromkeys(in_states)) if in_states else otherwise,
        group=group,
        type=type,
        tag=tag,
        created_by=created_by,
        error=error,
        operation=operation,
        priority_from=priority_from,
        priority_to=priority_to,
        created_from=unix_ms(created_since),
        created_before=unix_ms(created_until),
        finished_from=unix_ms(finished_since),
        finished_before=unix_ms(finished_until),
    )


async def dead_filter(
    queue: OfQueue = None,
    group: Group = None,
    type: Type = None,
    tag: Tag = None,
    created_by: CreatedBy = None,
    error: ErrorText = None,
    operation: LastOperation = None,
    finished_since: FinishedSince = None,
    finished_until: FinishedUntil = None,
) -> Filter:
    """Dead jobs that match."""
    return Filter(
        queue=queue,
        states=(JobState.DEAD,),
        group=group,
        type=type,
        tag=tag,
        created_by=created_by,
        error=error,
        operation=operation,
        finished_from=unix_ms(finished_since),
        finished_before=unix_ms(finished_until),
    )


def job_page(found: Found, page: Asked, *, hides_size: bool = False) -> JobPage:
    """A page of a search as answers show it."""
    items = [job_shown(job, with_payload=False, in_list=True) for job in found.items]
    following = None if found.next is None else page.at(found.next)
    if found.total is not None:
        return JobPage(items, found.total, following)
    return JobPage(items, None, following, found.searched, None if hides_size else found.of)


def dead_page(found: Found, page: Asked) -> DeadPage:
    """The same of dead jobs."""
    return DeadPage(**structs.asdict(job_page(found, page)), frozen=Moment(found.as_of_ms))
