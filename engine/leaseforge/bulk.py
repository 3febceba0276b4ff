"""What operators do with bulk operations, as plans: ask for one, look at it, run, pause and abort it.

What is asked for is written down first: the jobs that match and were there at that moment, each with its `rev`.
Only when that is done and counted can it be run; a job is then acted on if its `rev` is still the one written down,
and once. `bulk_work` carries it out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from leaseforge import bulk_calls, limits, reads
from leaseforge.answers import Answer
from leaseforge.bulk_fields import operation_from, order_fields, pace_fields
from leaseforge.bulk_records import REPLAYS, STATES, BulkFilter, BulkOperation, BulkOrder, BulkPace, BulkState, sum_of
from leaseforge.calls import Batch, Plan
from leaseforge.errors import (
    BadInput,
    BulkNotFound,
    BulkNotPossible,
    FieldProblem,
    IdempotencyConflict,
    TooManyOperations,
    TooManyOwnOperations,
)
from leaseforge.queues import queue_name_problem
from leaseforge.reads import Page
from leaseforge.requests import is_job_id

MAX_ID_BYTES = 64
DROPPED = bulk_calls.DROPPED
_GOING = (tuple(state for state in BulkState if not state.is_over), (BulkState.STOPPED,))


@dataclass(frozen=True, slots=True)
class Going:
    """Operations that run or wait for somebody's decision, and how many of them stopped by themselves."""

    unsettled: int = 0
    stopped: int = 0


def create(operation_id: str, order: BulkOrder) -> Plan[BulkOperation]:
    """Asks for an operation: from this moment on nothing that arrives is touched. It collects until it is `ready`.

    The same id again answers the operation it made. Raises BadInput, QueueNotFound, TooManyOperations,
    TooManyOwnOperations, and IdempotencyConflict for the same id with another action or filter.
    """
    check_order(order)
    for queue in order.filter.named_queues:
        yield from reads.queue(queue)
    answer, own = yield from bulk_calls.create(operation_id, order_fields(order), user=order.created_by)
    if answer is Answer.REFUSED:
        refusal = TooManyOwnOperations if len(own) >= limits.MAX_OPERATIONS_OF_ONE else TooManyOperations
        raise refusal(own)
    made = yield from show(operation_id)
    if answer is Answer.DUPLICATE and (made.order.action, made.order.filter) != (order.action, order.filter):
        raise IdempotencyConflict(operation_id, made.id)
    return made


def show(operation_id: str) -> Plan[BulkOperation]:
    """One operation. Raises BulkNotFound."""
    if _is_id(operation_id):
        raw = yield from bulk_calls.read_operation(operation_id)
        found = operation_from(*raw) if raw is not None else None
        if found is not None:
            return found
    raise BulkNotFound(operation_id)


def operations(states: Sequence[str] = (), *, offset: int = 0, limit: int = 50) -> Plan[Page[BulkOperation]]:
    """Operations of the last 7 days, the newest first; of `states` only, if any are given.

    A state is a BulkState, or DROPPED for what was aborted before it began: then ABORTED is only what had begun.
    """
    reads.check_page(offset, limit)
    call = bulk_calls.read_operations(bulk_calls.ALL, offset=offset, limit=limit, states=states)
    total, rows = yield from reads.readable(call, (0, []))
    found = tuple(operation for row in rows if (operation := operation_from(*row)) is not None)
    return Page(found, total, offset, limit)


def going() -> Plan[Going]:
    """How many operations are not over, read without their records."""
    calls = [bulk_calls.read_operations(bulk_calls.ALIVE, offset=0, limit=0, states=states) for states in _GOING]
    (unsettled, _), (stopped, _) = yield from Batch(calls)
    return Going(unsettled, stopped)


def run(operation_id: str, *, user: str, reason: str = "", pace: BulkPace | None = None) -> Plan[BulkOperation]:
    """From ready, paused or stopped to running, at another pace if one is given.

    Raises BulkNotFound, BulkNotPossible, and BadInput for a pace the action does not have.
    """
    fields: dict[str, str] = {}
    if pace is not None:
        operation = yield from show(operation_id)
        order = replace(
            operation.order,
            rate_per_second=pace.rate_per_second,
            stop_at_failure_rate=pace.stop_at_failure_rate,
        )
        _raise_if_any(_pace_problems(order))
        fields = pace_fields(order)
    yield from _steer(operation_id, "run", user, reason, fields)
    return (yield from show(operation_id))


def pause(operation_id: str, *, user: str, reason: str = "") -> Plan[BulkOperation]:
    """From running to paused: once this has returned no further job is acted on.

    Raises BulkNotFound, BulkNotPossible.
    """
    number = yield from _steer(operation_id, "pause", user, reason)
    return (yield from _halted(operation_id, number))


def abort(operation_id: str, *, user: str, reason: str = "") -> Plan[BulkOperation]:
    """Ends an operation: once this has returned no further job is acted on; what was done stays done.

    Raises BulkNotFound, BulkNotPossible.
    """
    number = yield from _steer(operation_id, "abort", user, reason)
    return (yield from _halted(operation_id, number))


def discard(operation_id: str, *, user: str, reason: str = "") -> Plan[BulkOperation]:
    """Ends an operation that was never run: whoever was faster and ran it keeps it. `reason` is told as its error.

    Raises BulkNotFound, BulkNotPossible.
    """
    yield from _steer(operation_id, "discard", user, reason, {"error": reason} if reason else {})
    return (yield from show(operation_id))


def check_order(order: BulkOrder) -> None:
    """Refuses what cannot be carried out with BadInput that names every problem."""
    _raise_if_any(_problems(order))


def _raise_if_any(problems: Iterator[FieldProblem]) -> None:
    if found := list(problems):
        raise BadInput(found)


def _steer(operation_id: str, verb: str, user: str, reason: str, fields: Mapping[str, str] | None = None) -> Plan[int]:
    """The step, and the number of the run it concerns."""
    if not _is_id(operation_id):
        raise BulkNotFound(operation_id)
    if len(reason) > limits.MAX_REASON:
        raise BadInput([FieldProblem("reason", f"must have at most {limits.MAX_REASON} characters")])
    answer, state, number = yield from bulk_calls.steer(operation_id, verb, user=user, reason=reason, fields=fields)
    if answer is Answer.NOT_FOUND:
        raise BulkNotFound(operation_id)
    if answer is Answer.CONFLICT:
        raise BulkNotPossible(operation_id, state, verb)
    return number


def _halted(operation_id: str, number: int) -> Plan[BulkOperation]:
    """Tells every queue, for the runner may not have heard yet; the operation with what the queues have counted."""
    operation = yield from show(operation_id)
    if operation.state not in (BulkState.PAUSED, BulkState.ABORTED) or not operation.run:
        return operation
    told = yield from Batch([bulk_calls.halt(queue, operation_id, number) for queue in operation.queues])
    if any(one.word != Answer.OK for one in told):
        return operation
    return replace(operation, counts=sum_of([one.part for one in told], searched=operation.counts.searched))


def _is_id(text: str) -> bool:
    return 0 < len(text) <= MAX_ID_BYTES and text.isascii() and text.isalnum()


def _problems(order: BulkOrder) -> Iterator[FieldProblem]:
    wanted = order.filter
    if wanted == BulkFilter():
        yield FieldProblem("filter", "must name something: a queue, a state, a group, a type, a tag, ids or times")
    if wanted.queue is not None and (message := queue_name_problem(wanted.queue)):
        yield FieldProblem("filter.queue", message)
    if wanted.states is not None and not wanted.states:
        yield FieldProblem("filter.states", "must name one at least")
    elif not wanted.states_for(order.action):
        possible = ", ".join(STATES[order.action])
        named = next((name for name in ("state", "states", "groups") if getattr(wanted, name) is not None), "group")
        field = f"filter.{named}"
        yield FieldProblem(field, f"leaves no job to {order.action}: that takes one that is {possible}")
    yield from _text_problems("filter.group", wanted.group, limits.MAX_KEY_BYTES)
    yield from _group_problems(wanted)
    yield from _text_problems("filter.operation", wanted.operation, limits.MAX_OPERATION_BYTES)
    yield from _text_problems("filter.type", wanted.type, limits.MAX_TYPE_BYTES)
    yield from _text_problems("filter.tag", wanted.tag, limits.MAX_TAG_BYTES)
    yield from _text_problems("filter.error", wanted.error, limits.MAX_KEY_BYTES)
    if wanted.ids is not None:
        if not 1 <= len(wanted.ids) <= limits.MAX_OPERATION_IDS:
            yield FieldProblem("filter.ids", f"must be 1 to {limits.MAX_OPERATION_IDS:,} job ids")
        for index, job_id in enumerate(wanted.ids[: limits.MAX_OPERATION_IDS]):
            if not is_job_id(job_id):
                yield FieldProblem(f"filter.ids[{index}]", "must be a UUID in lower-case hex with hyphens")
    for name in ("created", "finished"):
        yield from _time_problems(name, getattr(wanted, f"{name}_since"), getattr(wanted, f"{name}_until"))
    yield from _pace_problems(order)


def _group_problems(wanted: BulkFilter) -> Iterator[FieldProblem]:
    if wanted.groups is None:
        return
    if not 1 <= len(wanted.groups) <= limits.MAX_OPERATION_GROUPS:
        yield FieldProblem("filter.groups", f"must be 1 to {limits.MAX_OPERATION_GROUPS} groups")
        return
    for index, one in enumerate(wanted.groups):
        if message := queue_name_problem(one.queue):
            yield FieldProblem(f"filter.groups[{index}].queue", message)
        yield from _text_problems(f"filter.groups[{index}].group", one.group, limits.MAX_GROUP_BYTES)
    if not wanted.named_queues or (wanted.ids is not None):
        yield FieldProblem("filter.groups", "goes with no ids, and with no other queue than theirs")


def _pace_problems(order: BulkOrder) -> Iterator[FieldProblem]:
    if not 1 <= order.rate_per_second <= limits.MAX_OPERATION_RATE:
        yield FieldProblem("rate_per_second", f"must be from 1 to {limits.MAX_OPERATION_RATE:,}")
    if order.stop_at_failure_rate is not None:
        if order.action not in REPLAYS:
            yield FieldProblem("stop_at_failure_rate", f"is for {' and '.join(REPLAYS)}: others run no job again")
        if not 0 <= order.stop_at_failure_rate <= 1:
            yield FieldProblem("stop_at_failure_rate", "must be from 0 to 1")


def _text_problems(field: str, value: str | None, most: int) -> Iterator[FieldProblem]:
    if value is not None and not 1 <= len(value.encode("utf-8", "surrogatepass")) <= most:
        yield FieldProblem(field, f"must be 1 to {most} bytes")


def _time_problems(name: str, since: datetime | None, until: datetime | None) -> Iterator[FieldProblem]:
    for word, at in (("since", since), ("until", until)):
        if at is not None and at.tzinfo is None:
            yield FieldProblem(f"filter.{name}_{word}", "must be a time with a zone")
            return
        if at is not None and not limits.EARLIEST <= at <= limits.LATEST:
            yield FieldProblem(f"filter.{name}_{word}", "must be between 1970 and 9999")
            return
    if since is not None and until is not None and since >= until:
        yield FieldProblem(f"filter.{name}_until", f"must be later than {name}_since")
