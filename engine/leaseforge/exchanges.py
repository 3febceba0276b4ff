"""The calls of a worker: exchange (settle and claim in one trip), renew, tick, and its registration."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from leaseforge import limits
from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, queue_keys
from leaseforge.claimed import Claimed, read_claimed
from leaseforge.errors import ScriptFault
from leaseforge.fingerprints import fingerprint
from leaseforge.jobs import JobState, NewJob
from leaseforge.keys import claim_key, system_key, worker_command_key, worker_key
from leaseforge.moves import Moved, moves
from leaseforge.outbox import pack_follow_ups
from leaseforge.scripts import ENGINE
from leaseforge.texts import cut
from leaseforge.workers import Registered, WorkerReport

_pack = msgspec.msgpack.Encoder().encode
_SWEPT = (
    "meta",
    "counts",
    "types",
    "ready",
    "running",
    "scheduled",
    "retrying",
    "completed",
    "cancelled",
    "dead",
    "groups",
    "wake",
)


class Outcome(StrEnum):
    """How an attempt ended, as its worker saw it."""

    COMPLETE = "complete"
    FAIL = "fail"
    CRASH = "crash"
    """Its child process died: charged like a lost lease, not as a failure."""
    RELEASE = "release"
    """Given back unfinished and uncharged, because the worker drains."""
    CANCELLED = "cancelled"


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """The end of one attempt, presented with the token it was claimed under.

    For a failure or a crash: `error_kind` and `error_message` say what happened, `delay_ms` is the pause before the
    next attempt. For a failure `max_attempts` is the budget that holds for this job (0 = without limit), `permanent` a
    reason that makes it dead at once ('' for none), `timed_out` tells a timeout from an error; with `job_type` it
    decides the group of dead jobs it may join. A crash is charged to the budget that lost leases are charged to:
    beyond `max_recoveries` of both the job is poison. `follow_ups` (checked, 200 at most) are stored by an accepted
    completion only.
    """

    id: str
    token: str
    outcome: Outcome
    result: bytes = b""
    error_kind: str = ""
    error_message: str = ""
    traceback: str = ""
    max_attempts: int = 0
    delay_ms: int = 0
    permanent: str = ""
    timed_out: bool = False
    max_recoveries: int = limits.MAX_RECOVERIES
    job_type: str = ""
    follow_ups: tuple[NewJob, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchanged:
    """An exchange's answer. `settled` and `states` stand in the order of the settlements given.

    `settled` is ok, fenced or already_done; `states` the state an accepted one led to. `status` is
    ok, empty, paused or already_done (the number was used: `claimed` then holds what still runs
    under that claim). `more`: claimable jobs are left.
    """

    settled: tuple[Answer, ...]
    states: tuple[JobState | None, ...]
    claimed: tuple[Claimed, ...]
    status: Answer
    wait_ms: int | None
    more: bool
    moves: tuple[Moved, ...] = ()


@dataclass(frozen=True, slots=True)
class Ticked:
    """What a sweep did and saw.

    `next_due_ms`: ms until the next scheduled or retrying job is due, None without one. `follow_ups`:
    how many wait to be forwarded to other queues.
    """

    recovered: int
    dead: int
    promoted: int
    trimmed: int
    next_due_ms: int | None
    full: bool
    follow_ups: int = 0
    moves: tuple[Moved, ...] = ()


def exchange(
    queue: str,
    *,
    run_id: str,
    number: int,
    lease_ms: int,
    want: int,
    settlements: Sequence[Settlement] = (),
) -> Call[Exchanged]:
    """Settles what ended and claims up to `want` jobs, in one trip. At most 200 of each.

    Send the same `number` again until an answer comes: nothing is settled or claimed twice. Its
    reader raises ScriptFault if a part failed inside Redis.
    """
    if not 0 <= want <= limits.CHUNK or len(settlements) > limits.CHUNK:
        raise ValueError(f"an exchange carries at most {limits.CHUNK} settlements and claims")
    rest: list[Arg] = []
    follow_ups = 0
    for settlement in settlements:
        outcome = settlement.outcome
        rest += (
            settlement.id,
            settlement.token,
            _WORDS[outcome],
            settlement.result,
            _detail(settlement) if outcome in _WITH_DETAIL else b"",
            pack_follow_ups(queue, settlement.follow_ups) if settlement.follow_ups else b"",
        )
        follow_ups += len(settlement.follow_ups)
    if follow_ups > limits.MAX_FOLLOW_UPS:
        raise ValueError(f"an exchange carries at most {limits.MAX_FOLLOW_UPS} follow-ups")
    keys = queue_keys(queue, *_SWEPT, "outbox")
    return Call(
        ENGINE.load("exchange"),
        (*keys, ("claim", claim_key(queue, run_id))),
        (("run_id", run_id), ("number", number), ("lease_ms", lease_ms), ("want", want)),
        lambda raw: _exchanged(queue, raw),
        rest,
    )


def renew(queue: str, *, lease_ms: int, held: Sequence[tuple[str, str]]) -> Call[tuple[Answer, ...]]:
    """Renews up to 200 leases, given as (id, token): each ok, cancelled, already_done or fenced."""
    if not 0 < len(held) <= limits.CHUNK:
        raise ValueError(f"renew takes 1 to {limits.CHUNK} leases, not {len(held)}")
    return Call(
        ENGINE.load("renew"),
        queue_keys(queue, "meta", "counts", "running"),
        (("lease_ms", lease_ms),),
        lambda raw: tuple(Answer(word.decode()) for word in raw),
        [word for pair in held for word in pair],
    )


def tick(
    queue: str,
    *,
    max_recoveries: int = limits.MAX_RECOVERIES,
    backoff_base_ms: int = 1_000,
    backoff_cap_ms: int = 60_000,
    spread: int = 1_000,
    limit: int = limits.SWEEP,
) -> Call[Ticked]:
    """One bounded sweep of a queue: recover, promote, trim. Call again at once while `full`.

    `spread` (0 to 1000) is by how many thousandths of half a pause jobs that lost their leases come back apart.
    """
    keys = queue_keys(queue, *_SWEPT, "outbox")
    return Call(
        ENGINE.load("tick"),
        keys,
        (
            ("limit", limit),
            ("max_recoveries", max_recoveries),
            ("backoff_base_ms", backoff_base_ms),
            ("backoff_cap_ms", backoff_cap_ms),
            ("spread", spread),
            ("age_ms", limits.KEEP_ENDED_MS),
            ("keep", limits.KEEP_ENDED),
            ("dead_age_ms", limits.KEEP_DEAD_MS),
            ("dead_keep", limits.KEEP_DEAD),
        ),
        _ticked,
    )


def _ticked(raw: Sequence[Any]) -> Ticked:
    recovered, dead, promoted, trimmed, due_ms, full, follow_ups = raw[:7]
    next_due_ms = None if due_ms < 0 else due_ms
    return Ticked(recovered, dead, promoted, trimmed, next_due_ms, bool(full), follow_ups, moves(raw, 7))


def register_worker(report: WorkerReport, *, heard: str = "") -> Call[Registered]:
    """Reports a worker as alive; answers what operators want of it.

    `heard` is the id of the last command that came: it is not repeated any more.
    """

    def read(raw: Sequence[Any]) -> Registered:
        return Registered(raw[0].decode(), raw[1].decode(), dict(zip(report.queues, raw[2:], strict=True)))

    return Call(
        ENGINE.load("register_worker"),
        _worker_keys(report.id),
        (("id", report.id), ("report", _pack(report)), ("ttl_ms", report.ttl_ms), ("heard", heard)),
        read,
        report.queues,
    )


def deregister_worker(worker_id: str, queues: Sequence[str]) -> Call[bool]:
    """Takes a worker off the list when it leaves in order."""
    return Call(
        ENGINE.load("deregister_worker"), _worker_keys(worker_id), (("id", worker_id),), lambda raw: True, tuple(queues)
    )


def _worker_keys(worker_id: str) -> tuple[tuple[str, str], ...]:
    return (
        ("workers", system_key("workers")),
        ("worker", worker_key(worker_id)),
        ("command", worker_command_key(worker_id)),
    )


_WITH_DETAIL = frozenset({Outcome.FAIL, Outcome.CRASH})
_WORDS = {outcome: outcome.value.encode() for outcome in Outcome}


def _detail(settlement: Settlement) -> bytes:
    detail: dict[str, Any] = {
        "kind": cut(settlement.error_kind, limits.ERROR_HEAD_BYTES),
        "head": cut(settlement.error_message, limits.ERROR_HEAD_BYTES),
        "message": cut(settlement.error_message, limits.MAX_MESSAGE_BYTES),
        "traceback": cut(settlement.traceback, limits.MAX_TRACEBACK_BYTES, keep_end=True),
        "max": settlement.max_recoveries if settlement.outcome is Outcome.CRASH else settlement.max_attempts,
        "delay": settlement.delay_ms,
    }
    if settlement.permanent:
        detail["permanent"] = settlement.permanent
    if settlement.timed_out:
        detail["outcome"] = "timeout"
    kind = settlement.permanent or settlement.error_kind
    detail["group"], detail["title"] = fingerprint(settlement.job_type, kind, settlement.error_message)
    return _pack(detail)


def _exchanged(queue: str, raw: Sequence[Any]) -> Exchanged:
    for part, (fine, reply) in zip(("settle", "promote", "claim"), raw[:3], strict=True):
        if not fine:
            raise ScriptFault(f"{part} failed in queue {queue}: {reply.decode(errors='replace')}")
    words = raw[0][1]
    status, wait_ms, more, jobs = raw[2][1]
    return Exchanged(
        settled=tuple([_SETTLED[word] for word in words]),
        states=tuple([_STATES[word] for word in words]),
        claimed=tuple([read_claimed(queue, row) for row in jobs]),
        status=Answer(status.decode()),
        wait_ms=wait_ms,
        more=bool(more),
        moves=moves(raw, 3),
    )


# What settle answers of a job, as an answer and as the state it led to: a look-up a job instead of two conversions.
_STATES: dict[bytes, JobState | None] = {state.value.encode(): state for state in JobState}
_SETTLED = dict.fromkeys(_STATES, Answer.OK)
for _answer in (Answer.FENCED, Answer.ALREADY_DONE):
    _SETTLED[_answer.value.encode()] = _answer
    _STATES[_answer.value.encode()] = None
