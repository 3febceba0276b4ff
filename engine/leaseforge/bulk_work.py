"""What the runner of bulk operations does, in steps of one script call each; any process can take over after any step.

All that counts is in the queues: how far the walk is, which jobs are left, what came of the others. A runner keeps a
copy of it (`Work`), which each answer brings up to date.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leaseforge import bulk_calls, limits, reads, tracing
from leaseforge.bulk_calls import Part, Told
from leaseforge.bulk_records import REPLAYS, BulkCounts, BulkFilter, BulkOperation, BulkSample, sum_of
from leaseforge.calls import Batch, Plan
from leaseforge.jobs import JobState

SAMPLE = 20
WATCHED = 1000
"""Jobs of a queue whose outcome is waited for at a time; further ones are not looked at."""


@dataclass(slots=True)
class Work:
    """What a runner knows of one operation. `queues` are those to walk or to act on, in order."""

    operation: BulkOperation
    queues: tuple[str, ...]
    parts: dict[str, Part] = field(default_factory=dict)
    is_cut: bool = False

    @property
    def found(self) -> int:
        """Jobs written down so far."""
        return sum(part.found for part in self.parts.values())

    def counts(self) -> BulkCounts:
        """The parts of all queues added up."""
        return sum_of(self.parts.values(), searched=self.operation.counts.searched)

    def next_to_act_on(self) -> str | None:
        """The queue that still has jobs to be acted on; None when all are."""
        return next((queue for queue in self.queues if self.parts[queue].at < self.parts[queue].found), None)

    def fault(self) -> str:
        """The last fault a single job ran into, '' if none did."""
        return next((part.fault for part in self.parts.values() if part.fault), "")


def take_up(operation: BulkOperation) -> Plan[Work]:
    """What there is of an operation, for a runner that knows nothing of it yet."""
    queues: Sequence[str] = operation.queues
    if operation.ready_at is None:
        queues = operation.order.filter.named_queues or (yield from reads.queue_names())
    found = yield from Batch([bulk_calls.read_part(queue, operation.id) for queue in queues])
    return Work(operation, tuple(queues), {queue: part for queue, (part, _) in zip(queues, found, strict=True)})


OVER = "over"
GONE = "not_found"


def collect(work: Work, *, term: int, most: int, look: int = limits.OPERATION_CHUNK) -> Plan[str]:
    """One step of writing jobs down: ok, already_done, fenced; OVER when there is nothing left to look at.

    `most` jobs at most: then the operation is cut. `look` jobs are looked at, or as many named ones as go together.
    """
    operation, wanted = work.operation, work.operation.order.filter
    every = {queue: _stages(operation, queue) for queue in work.queues} if wanted.groups else None
    shared = [] if every else _stages(operation, "")

    def stages_of(queue: str) -> list[Any]:
        return every[queue] if every else shared

    left = most - work.found
    queue = next((queue for queue in work.queues if work.parts[queue].stage < len(stages_of(queue))), None)
    if queue is None:
        return OVER
    if left <= 0:
        work.is_cut = True
        return OVER
    part = work.parts[queue]
    told: Told
    if wanted.ids is not None:
        batch = stages_of(queue)[part.stage]
        told = yield from bulk_calls.pick(
            queue,
            operation.id,
            batch,
            term=term,
            step=part.step,
            as_of_ms=operation.as_of_ms,
            wanted=_wanted(operation),
            stage=part.stage + 1,
        )
    else:
        key, state = stages_of(queue)[part.stage]
        told = yield from bulk_calls.collect(
            queue,
            operation.id,
            key=key,
            state=state,
            term=term,
            step=part.step,
            as_of_ms=operation.as_of_ms,
            limit=look,
            most=left,
            wanted=_wanted(operation),
        )
    work.parts[queue] = told.part
    return told.word


def sample(work: Work) -> Plan[list[BulkSample]]:
    """The first 20 jobs of an operation that has collected."""
    shown: list[BulkSample] = []
    for queue in (queue for queue in work.queues if work.parts[queue].found):
        if len(shown) >= SAMPLE:
            break
        _, rows = yield from bulk_calls.read_part(queue, work.operation.id, sample=SAMPLE - len(shown))
        shown += [BulkSample(job_id, queue, job_type) for job_id, job_type in rows]
    return shown


def act(work: Work, queue: str, *, term: int, limit: int) -> Plan[tuple[str, int]]:
    """Acts on the next jobs of a queue: what it answered, and how many jobs were taken.

    ok, already_done, fenced, halted; GONE when what was written down is no longer there.
    """
    order, part = work.operation.order, work.parts[queue]
    asked_ns = time.time_ns()
    told = yield from bulk_calls.act(
        queue,
        work.operation.id,
        order.action,
        term=term,
        run=work.operation.run,
        at=part.at,
        limit=limit,
        watch=WATCHED if order.stop_at_failure_rate is not None and order.action in REPLAYS else 0,
    )
    tracing.tell_moves(told.moves, since_ns=asked_ns)
    if told.word == GONE:
        return told.word, 0
    work.parts[queue] = told.part
    if told.word == "ok" and told.part.at == part.at:
        return GONE, 0
    return told.word, max(0, told.part.at - part.at)


def judge(work: Work) -> Plan[None]:
    """Looks at what became of watched jobs, up to 100 a queue."""
    queues = [queue for queue in work.queues if work.parts[queue].at]
    calls = [bulk_calls.judge(queue, work.operation.id, limit=limits.OPERATION_CHUNK) for queue in queues]
    for queue, told in zip(queues, (yield from Batch(calls)), strict=True):
        if told.word == "ok":
            work.parts[queue] = told.part


def drop_empty(work: Work) -> Plan[None]:
    """Removes what is kept in queues where nothing was found."""
    empty = [queue for queue in work.queues if not work.parts[queue].found]
    yield from Batch([bulk_calls.drop(queue, work.operation.id) for queue in empty])
    work.queues = tuple(queue for queue in work.queues if queue not in set(empty))
    work.parts = {queue: work.parts[queue] for queue in work.queues}


def drop(work: Work) -> Plan[None]:
    """Removes what queues keep of an operation that is over."""
    yield from Batch([bulk_calls.drop(queue, work.operation.id) for queue in work.queues])


def _stages(operation: BulkOperation, queue: str) -> list[Any]:
    """What is walked in a queue: batches of ids, or sets as (key, state)."""
    wanted = operation.order.filter
    if wanted.ids is not None:
        ids = list(dict.fromkeys(wanted.ids))
        return [ids[start : start + limits.OPERATION_CHUNK] for start in range(0, len(ids), limits.OPERATION_CHUNK)]
    if (groups := wanted.groups_of(queue)) is not None:
        return [(f"dead:group:{group}", JobState.DEAD) for group in groups]
    return [(state, state) for state in wanted.states_for(operation.order.action)]


def _wanted(operation: BulkOperation) -> Mapping[str, Any]:
    """The filter as the scripts take it: times in ms."""
    wanted: BulkFilter = operation.order.filter
    asked: dict[str, Any] = {"states": {str(state): True for state in wanted.states_for(operation.order.action)}}
    for name in ("type", "tag", "group", "operation"):
        if (text := getattr(wanted, name)) is not None:
            asked[name] = text
    if wanted.error is not None:
        # Of bytes only A to Z have another case, as in the script; what it unpacks must be text.
        asked["error"] = wanted.error.encode("utf-8", "replace").lower().decode()
    for name in ("created_since", "created_until", "finished_since", "finished_until"):
        if (at := getattr(wanted, name)) is not None:
            asked[name] = round(at.timestamp() * 1000)
    return asked
