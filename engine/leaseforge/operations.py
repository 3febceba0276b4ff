"""What producers and operators do, as plans: `store.run(operations.pause("mail"))`."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from leaseforge import calls, limits, reads, tracing
from leaseforge.answers import Answer
from leaseforge.calls import Acted, Batch, Call, Plan
from leaseforge.enqueueing import Enqueued, store_jobs
from leaseforge.errors import (
    BadInput,
    FieldProblem,
    IdempotencyConflict,
    InvalidTransition,
    JobNotFound,
    QueueNotFound,
    UniqueKeyTaken,
)
from leaseforge.jobs import JobState, NewJob
from leaseforge.keys import system_key, worker_command_key, worker_key
from leaseforge.queues import LIMIT_NAMES, check_limits, check_queue_name
from leaseforge.requests import check_operation, check_replay, checked
from leaseforge.scripts import ENGINE
from leaseforge.workers import Command, is_worker_id


class Durability(StrEnum):
    """When an enqueue counts as done: with the primary's word, or with a replica's too."""

    LOCAL = "local"
    REPLICATED = "replicated"


@dataclass(frozen=True, slots=True)
class Purged:
    """How many jobs a purge removed."""

    removed: int


def enqueue(job: NewJob, *, durability: Durability = Durability.LOCAL) -> Plan[Enqueued]:
    """Stores one job: created, or duplicate with the first job's id.

    `durability` replicated waits for a replica to have it; if none does within a second the outcome
    is unknown (StoreUnavailable), and the same request is safe to send again.

    Raises BadInput, IdempotencyConflict, StoreFull, or StoreUnavailable; after the last the outcome
    is unknown, and the same request (same id or key) may safely be sent again.
    """
    [enqueued] = yield from enqueue_many([job], durability=durability)
    if enqueued.answer is Answer.REFUSED:
        raise IdempotencyConflict(job.idempotency_key or "", enqueued.id)
    return enqueued


def enqueue_many(jobs: Sequence[NewJob], *, durability: Durability = Durability.LOCAL) -> Plan[list[Enqueued]]:
    """Stores many jobs, each on its own: answers come in the order given, `refused` included.

    Jobs of one queue keep their order. A queue's jobs are stored 1,000 or 16 MiB at a time, all or
    none of a chunk; chunks before a failure stay stored.
    """
    for job in jobs:
        checked(job)
    if not jobs:
        return []
    with tracing.enqueueing(jobs) as call:
        answers = yield from _enqueue_each(call.jobs, durability)
        call.stored(answers)
    return answers


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


def purge_dead(queue: str, *, before_ms: int) -> Plan[Purged]:
    """Removes the jobs that died before `before_ms` (Redis time), with their histories; what died later stays.

    Works in bounded chunks. Safe to repeat. Raises QueueNotFound.
    """
    yield from reads.queue(queue)
    total = 0
    while True:
        removed, gone = yield from calls.purge_dead(queue, before_ms=before_ms)
        total += removed
        if gone < limits.CHUNK:
            return Purged(total)


def retry(job_id: str, *, operation: str, payload: bytes | None = None) -> Plan[Answer]:
    """From dead to ready, with another payload if one is given: ok, or already_done for the same `operation`.

    Raises JobNotFound, InvalidTransition, UniqueKeyTaken.
    """
    check_replay(operation, payload)
    act = partial(calls.retry, operation=operation, payload=payload)
    return (yield from _act_on_job("retry", job_id, act))


def requeue(job_id: str, *, operation: str) -> Plan[Answer]:
    """From completed, cancelled or dead to ready, result cleared: ok, or already_done for the same `operation`.

    Raises JobNotFound, InvalidTransition, UniqueKeyTaken.
    """
    check_operation(operation)
    return (yield from _act_on_job("requeue", job_id, partial(calls.requeue, operation=operation)))


def cancel(job_id: str, *, operation: str, only: Iterable[JobState] = ()) -> Plan[Answer]:
    """Cancels a live job, or one in `only` these states.

    One that runs is asked to stop and ends as its worker settles it. ok, or already_done for the same
    `operation`. Raises JobNotFound, InvalidTransition.
    """
    check_operation(operation)
    return (yield from _act_on_job("cancel", job_id, partial(calls.cancel, operation=operation, only=tuple(only))))


def promote(job_id: str, *, operation: str) -> Plan[Answer]:
    """From scheduled or retrying to ready before its time: ok, or already_done for the same `operation`.

    Raises JobNotFound, InvalidTransition.
    """
    check_operation(operation)
    return (yield from _act_on_job("promote", job_id, partial(calls.promote_job, operation=operation)))


def delete(job_id: str, *, only: Iterable[JobState] = ()) -> Plan[Answer]:
    """Removes a job that is not running, or one in `only` these states.

    ok, or already_done if it went while we looked (a lost reply, another one).

    Raises JobNotFound, InvalidTransition.
    """
    return (yield from _act_on_job("delete", job_id, partial(calls.delete, only=tuple(only)), gone=Answer.ALREADY_DONE))


def configure(queue: str, changes: Mapping[str, float | None]) -> Plan[Answer]:
    """Changes a queue's limits (fields of `QueueLimits`): a value sets one, None clears it, the others stay.

    Raises QueueNotFound, BadInput.
    """
    checked_changes = check_limits(changes)
    words = ["~" if name not in checked_changes else _word(checked_changes[name]) for name in LIMIT_NAMES]
    call: Call[Answer] = Call(
        ENGINE.load("configure"),
        calls.queue_keys(check_queue_name(queue), "meta", "ready", "running", "wake"),
        tuple(zip(LIMIT_NAMES, words, strict=True)),
        calls.answer,
    )
    return _found(queue, (yield from call))


def command_worker(worker_id: str, command: str) -> Plan[bool]:
    """Leaves quiet, resume or stop for a worker, heard at its next report; False if there is no such worker.

    It stands until the worker has confirmed it; a newer command takes its place. Raises BadInput.
    """
    if command not in tuple(Command):
        raise BadInput([FieldProblem("command", f"must be one of {', '.join(Command)}")])
    if not is_worker_id(worker_id):
        return False
    call: Call[Answer] = Call(
        ENGINE.load("command_worker"),
        (
            ("workers", system_key("workers")),
            ("worker", worker_key(worker_id)),
            ("command", worker_command_key(worker_id)),
        ),
        (("id", worker_id), ("command", command), ("ttl_ms", 60_000)),
        calls.answer,
    )
    return (yield from call) is Answer.OK


def _act_on_job(
    verb: str, job_id: str, build: Callable[[str, str], Call[Acted]], *, gone: Answer | None = None
) -> Plan[Answer]:
    """Finds the job's queue and does one thing to it; what forbids it becomes an exception.

    `gone` is the answer for a job that goes between the two; without one that is JobNotFound too.
    """
    for queue in (yield from _queues_holding(job_id)):
        asked_ns = time.time_ns()
        acted = yield from build(queue, job_id)
        tracing.tell_moves(acted.moves, since_ns=asked_ns)
        if acted.answer is Answer.CONFLICT and acted.holder:
            raise UniqueKeyTaken(job_id, acted.holder)
        if acted.answer is Answer.CONFLICT:
            raise InvalidTransition(job_id, acted.state, verb)
        if acted.answer is Answer.NOT_FOUND and gone is not None:
            return gone
        if acted.answer is not Answer.NOT_FOUND:
            return acted.answer
    raise JobNotFound(job_id)


def _enqueue_each(jobs: Sequence[NewJob], durability: Durability) -> Plan[list[Enqueued]]:
    by_queue: dict[str, list[int]] = {}
    for position, job in enumerate(jobs):
        by_queue.setdefault(job.queue, []).append(position)
    answers: dict[int, Enqueued] = {}
    for queue, positions in by_queue.items():
        for chunk in _chunks(jobs, positions):
            chosen = [jobs[position] for position in chunk]
            stored = yield from store_jobs(queue, chosen, replicated=durability is Durability.REPLICATED)
            answers.update(zip(chunk, stored.jobs, strict=True))
    return [answers[position] for position in range(len(jobs))]


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


def _queues_holding(job_id: str) -> Plan[list[str]]:
    """The queues (one, or none) that hold the job."""
    names = yield from reads.queue_names()
    found = yield from Batch([reads.job_call(name, job_id) for name in names])
    return [job.queue for job in found if job is not None]


def _found(queue: str, answer: Answer) -> Answer:
    if answer is Answer.NOT_FOUND:
        raise QueueNotFound(queue)
    return answer


def _word(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}".rstrip("0").rstrip(".")
