"""What producers and operators do, as plans: `store.run(operations.pause("mail"))`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leaseforge import calls, limits, reads
from leaseforge.answers import Answer
from leaseforge.calls import Batch, Call, Plan
from leaseforge.enqueueing import Enqueued
from leaseforge.enqueueing import enqueue as enqueue_call
from leaseforge.errors import IdempotencyConflict, InvalidTransition, JobNotFound, QueueNotFound, TooManyQueues
from leaseforge.jobs import NewJob
from leaseforge.keys import system_key
from leaseforge.queues import check_queue_name
from leaseforge.requests import check_replay, checked
from leaseforge.scripts import ENGINE


@dataclass(frozen=True, slots=True)
class Purged:
    """How many jobs a purge removed."""

    removed: int


def enqueue(job: NewJob) -> Plan[Enqueued]:
    """Stores one job: created, or duplicate with the first job's id.

    Raises BadInput, IdempotencyConflict, StoreFull, or StoreUnavailable; after the last the outcome
    is unknown, and the same request (same id or key) may safely be sent again.
    """
    [enqueued] = yield from enqueue_many([job])
    if enqueued.answer is Answer.REFUSED:
        raise IdempotencyConflict(job.idempotency_key or "", enqueued.id)
    return enqueued


def enqueue_many(jobs: Sequence[NewJob]) -> Plan[list[Enqueued]]:
    """Stores many jobs, each on its own: answers come in the order given, `refused` included.

    Jobs of one queue keep their order. A queue's jobs are stored 1,000 or 16 MiB at a time, all or
    none of a chunk; chunks before a failure stay stored.
    """
    by_queue: dict[str, list[int]] = {}
    for position, job in enumerate(jobs):
        by_queue.setdefault(checked(job).queue, []).append(position)
    answers: dict[int, Enqueued] = {}
    for queue, positions in by_queue.items():
        # First the name, then the jobs: a crash between leaves an empty queue, never hidden jobs.
        if (yield from _register(queue)) is Answer.REFUSED:
            raise TooManyQueues(f"there are {limits.MAX_QUEUES:,} queues already; {queue} would be one more")
        for chunk in _chunks(jobs, positions):
            stored = yield from enqueue_call(queue, [jobs[position] for position in chunk])
            answers.update(zip(chunk, stored, strict=True))
    return [answers[position] for position in range(len(jobs))]


def pause(queue: str) -> Plan[Answer]:
    """No claim succeeds once this has returned: ok, or already_done. Raises QueueNotFound."""
    answer = yield from calls.pause(check_queue_name(queue))
    return _found(queue, answer)


def resume(queue: str) -> Plan[Answer]:
    """Claims go on: ok, or already_done. Raises QueueNotFound."""
    answer = yield from calls.resume(check_queue_name(queue))
    return _found(queue, answer)


def purge(queue: str, *, sequence: int, as_of_ms: int) -> Plan[Purged]:
    """Removes the ready jobs an operator was shown (`QueueInfo.sequence`, `.as_of_ms`), nothing that came later.

    Works in bounded chunks and goes round until a round finds nothing, because claims move
    entries meanwhile. Safe to repeat.
    """
    check_queue_name(queue)
    total = 0
    while True:
        removed = yield from _purge_round(queue, sequence, as_of_ms)
        total += removed
        if not removed:
            return Purged(total)


def retry(job_id: str, *, operation: str, payload: bytes | None = None) -> Plan[Answer]:
    """Dead -> ready, with another payload if one is given: ok, or already_done for the same `operation`.

    Raises JobNotFound, InvalidTransition, BadInput.
    """
    check_replay(operation, payload)
    for queue in (yield from _queues_holding(job_id)):
        answer, state = yield from calls.retry(queue, job_id, operation=operation, payload=payload)
        if answer is Answer.CONFLICT:
            raise InvalidTransition(job_id, state, "retry")
        if answer is not Answer.NOT_FOUND:
            return answer
    raise JobNotFound(job_id)


def delete(job_id: str) -> Plan[Answer]:
    """Removes a job that is not running: ok, or already_done if it went while we looked (a lost reply, another one).

    Raises JobNotFound, InvalidTransition.
    """
    for queue in (yield from _queues_holding(job_id)):
        answer, state = yield from calls.delete(queue, job_id)
        if answer is Answer.CONFLICT:
            raise InvalidTransition(job_id, state, "delete")
        return Answer.ALREADY_DONE if answer is Answer.NOT_FOUND else answer
    raise JobNotFound(job_id)


def _chunks(jobs: Sequence[NewJob], positions: Sequence[int]) -> Iterator[list[int]]:
    """Cuts positions of `jobs` into what one call may carry."""
    chunk: list[int] = []
    size = 0
    for position in positions:
        size += len(jobs[position].payload)
        if chunk and (len(chunk) == limits.MAX_BULK or size > limits.MAX_BULK_BYTES):
            yield chunk
            chunk, size = [], len(jobs[position].payload)
        chunk.append(position)
    if chunk:
        yield chunk


def _purge_round(queue: str, sequence: int, as_of_ms: int) -> Plan[int]:
    removed, score, skip = 0, "-inf", 0
    while score:
        chunk = yield from calls.purge(queue, sequence=sequence, as_of_ms=as_of_ms, score=score, skip=skip)
        removed += chunk.removed
        score, skip = chunk.score, chunk.skip
    return removed


def _register(queue: str) -> Plan[Answer]:
    call: Call[Answer] = Call(
        ENGINE.load("register_queue"),
        (("queues", system_key("queues")),),
        (("most", limits.MAX_QUEUES), ("name", queue)),
        calls.answer,
    )
    return (yield from call)


def _queues_holding(job_id: str) -> Plan[list[str]]:
    """The queues (one, or none) that hold the job."""
    names = yield from reads.queue_names()
    found = yield from Batch([reads.job_call(name, job_id) for name in names])
    return [job.queue for job in found if job is not None]


def _found(queue: str, answer: Answer) -> Answer:
    if answer is Answer.NOT_FOUND:
        raise QueueNotFound(queue)
    return answer
