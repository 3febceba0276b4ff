"""Follow-ups: jobs that exist only if the job that asked for them completes.

Those of the same queue are stored by the very script that settles their parent. Those of another
queue wait in the parent queue's outbox, written by that script too, until a loop of any worker of
the queue forwards them: two queues are two places in a cluster, and no script reaches both.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from leaseforge import limits
from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, Plan, queue_keys
from leaseforge.enqueueing import StoredJob, enqueue_stored, job_words, register_queue
from leaseforge.errors import BadInput, ScriptFault, StoreFull, StoreUnavailable, TooManyQueues
from leaseforge.jobs import NewJob
from leaseforge.queues import check_queue_name
from leaseforge.scripts import ENGINE

_CONFLICT = "its idempotency key was used for another job"


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What one round did: `moved` have a place in their queue, `refused` never will, `left` are still in the outbox."""

    moved: int
    refused: int
    left: int


@dataclass(frozen=True, slots=True)
class _Waiting:
    parent: str
    queue: str
    job: StoredJob


def pack_follow_ups(queue: str, jobs: Sequence[NewJob]) -> bytes:
    """Follow-ups of a job of `queue` as the settle script unpacks them: strings, each with its length before it.

    One for another queue is forwarded by any worker, perhaps twice: its id is its idempotency key too, so
    that it does not come back after it ran and was deleted between the two.
    """
    parts: list[bytes] = []
    for job in jobs:
        is_own = job.queue == queue
        parts.append(_packed("" if is_own else job.queue))
        if not is_own and job.idempotency_key is None:
            job = replace(job, idempotency_key=job.id)
        parts += [_packed(word) for word in job_words(job)]
    return b"".join(parts)


def forward(queue: str, *, limit: int = 50) -> Plan[Forwarded]:
    """Moves follow-ups from a queue's outbox to their own queues, about `limit` of them.

    Their ids make a repeated round safe. A queue that cannot take its jobs now does not hold up
    those of another; a job that no queue will ever take is removed and noted in its parent's log.
    """
    total, waiting = yield from _read(queue, limit)
    done: list[tuple[str, str, str]] = []
    refused = 0
    by_queue: dict[str, list[_Waiting]] = {}
    for entry in waiting:
        by_queue.setdefault(entry.queue, []).append(entry)
    for target, entries in by_queue.items():
        try:
            check_queue_name(target)
            yield from register_queue(target)
            stored = yield from enqueue_stored(target, [entry.job for entry in entries])
            if stored.first:
                yield from register_queue(target, anew=True)
        except (BadInput, TooManyQueues) as error:
            refusals = [str(error)] * len(entries)
        except (StoreFull, StoreUnavailable, ScriptFault):
            continue
        else:
            refusals = [_CONFLICT if one.answer is Answer.REFUSED else "" for one in stored.jobs]
        for entry, refusal in zip(entries, refusals, strict=True):
            note = f"follow-up {entry.job[0]} refused: {refusal}" if refusal else ""
            done.append((entry.job[0], entry.parent, note))
            refused += bool(refusal)
    if done:
        yield from forwarded_call(queue, done)
    return Forwarded(len(done) - refused, refused, max(0, total - len(done)))


def _read(queue: str, limit: int) -> Plan[tuple[int, list[_Waiting]]]:
    def read(raw: tuple[int, list[bytes]]) -> tuple[int, list[_Waiting]]:
        return raw[0], [_waiting(entry) for entry in raw[1]]

    call: Call[tuple[int, list[_Waiting]]] = Call(
        ENGINE.load("read_outbox"), queue_keys(queue, "outbox"), (("limit", min(limit, limits.CHUNK)),), read
    )
    return (yield from call)


def forwarded_call(queue: str, done: Sequence[tuple[str, str, str]]) -> Call[int]:
    """Takes follow-ups out of the outbox, given as (id, parent, refusal or '')."""
    rest: list[Arg] = [word for entry in done for word in entry]
    return Call(ENGINE.load("forwarded"), queue_keys(queue, "counts", "outbox"), (), lambda raw: int(raw), rest)


def _packed(word: Arg) -> bytes:
    raw = word if isinstance(word, bytes) else str(word).encode()
    return struct.pack(">I", len(raw)) + raw


def _unpacked(blob: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(blob):
        (size,) = struct.unpack_from(">I", blob, at)
        yield blob[at + 4 : at + 4 + size]
        at += 4 + size


def _waiting(entry: bytes) -> _Waiting:
    parent, queue, job_id, job_type, payload, priority, delay_ms, extra = _unpacked(entry)
    job = (job_id.decode(), job_type.decode(), payload, priority.decode(), delay_ms.decode(), extra)
    return _Waiting(parent.decode(), queue.decode(), job)
