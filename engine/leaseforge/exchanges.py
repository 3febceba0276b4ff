"""The calls of a worker: exchange (settle and claim in one trip), renew, tick, and its registration."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from leaseforge import limits
from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, queue_keys
from leaseforge.errors import ScriptFault
from leaseforge.fingerprints import fingerprint
from leaseforge.jobs import JobState, NewJob, Options
from leaseforge.keys import claim_key, system_key, worker_command_key, worker_key
from leaseforge.moves import Moved, moves
from leaseforge.outbox import pack_follow_ups
from leaseforge.records import tags, whole
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
_decode_tags = msgspec.json.Decoder(tuple[str, ...]).decode


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


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """A job in a worker's hands. `token` proves the claim, `fence` is its integer part for handlers.

    `attempt` counts from 1 over the job's life; times are Redis time in ms.
    """

    id: str
    queue: str
    token: str
    fence: int
    type: str
    payload: bytes
    content_type: str
    attempt: int
    failures: int
    recoveries: int
    replays: int
    priority: int
    options: Options
    created_at_ms: int
    ready_at_ms: int
    tags: tuple[str, ...]
    traceparent: str | None
    tracestate: str | None = None


@dataclass(frozen=True, slots=True)
class Exchanged:
    """An exchange's answer. `settled` and `states` stand in the order of the settlements given.

    `settled` is ok, fenced or already_done; `states` the state an accepted one led to. `status` is
    ok, empty, paused or already_done (the number was used: `claimed` then holds what still runs
    under that claim, `adopted` is true). `more`: claimable jobs are left.
    """

    settled: tuple[Answer, ...]
    states: tuple[JobState | None, ...]
    claimed: tuple[Claimed, ...]
    status: Answer
    wait_ms: int | None
    more: bool
    adopted: bool
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
        claimed=tuple([_claimed(queue, row) for row in jobs]),
        status=Answer(status.decode()),
        wait_ms=wait_ms,
        more=bool(more),
        adopted=status == b"already_done",
        moves=moves(raw, 3),
    )


# What settle answers of a job, as an answer and as the state it led to: a look-up a job instead of two conversions.
_STATES: dict[bytes, JobState | None] = {state.value.encode(): state for state in JobState}
_SETTLED = dict.fromkeys(_STATES, Answer.OK)
for _answer in (Answer.FENCED, Answer.ALREADY_DONE):
    _SETTLED[_answer.value.encode()] = _answer
    _STATES[_answer.value.encode()] = None


def _claimed(queue: str, row: Sequence[Any]) -> Claimed:
    """One job of the reply. A damaged field counts as unset: it must not keep the whole batch from its worker."""
    try:
        return _read_claimed(queue, row)
    except (ValueError, msgspec.MsgspecError):
        return _read_claimed(queue, _mended(row))


_NUMBERS = frozenset({b"failures", b"recoveries", b"replays", b"priority"})
_NO_OPTIONS = Options.decode(None)
_JSON = "application/json"
_MOST = 7
"""So many columns every job has; then come names and values of what few have."""


def _mended(row: Sequence[Any]) -> list[Any]:
    mended = list(row)
    mended[2] = whole(row[2])
    for at in range(_MOST, len(row), 2):
        name, value = row[at], row[at + 1]
        if name in _NUMBERS:
            mended[at + 1] = whole(value)
        elif name == b"tags":
            mended[at + 1] = msgspec.json.encode(tags(value))
        elif name in (b"traceparent", b"tracestate"):
            mended[at + 1] = value.decode(errors="replace").encode()
    return mended


def _read_claimed(queue: str, row: Sequence[Any]) -> Claimed:
    token = row[1].decode()
    fence = int(token[: token.index(".")])
    job_id = row[0].decode("utf-8", "replace")
    job_type = row[4].decode("utf-8", "replace") if row[4] else ""
    attempt, created_at_ms, ready_at_ms = int(row[2]), whole(row[5]), whole(row[6])
    if len(row) == _MOST:
        return Claimed(
            job_id,
            queue,
            token,
            fence,
            job_type,
            row[3],
            _JSON,
            attempt,
            0,
            0,
            0,
            0,
            _NO_OPTIONS,
            created_at_ms,
            ready_at_ms,
            (),
            None,
        )
    few = {row[at]: row[at + 1] for at in range(_MOST, len(row), 2)}
    content_type, labels = few.get(b"content_type"), few.get(b"tags")
    traceparent, tracestate = few.get(b"traceparent"), few.get(b"tracestate")
    return Claimed(
        id=job_id,
        queue=queue,
        token=token,
        fence=fence,
        type=job_type,
        payload=row[3],
        content_type=content_type.decode("utf-8", "replace") if content_type else _JSON,
        attempt=attempt,
        failures=int(few.get(b"failures") or 0),
        recoveries=int(few.get(b"recoveries") or 0),
        replays=int(few.get(b"replays") or 0),
        priority=int(few.get(b"priority") or 0),
        options=Options.decode(few.get(b"options")),
        created_at_ms=created_at_ms,
        ready_at_ms=ready_at_ms,
        tags=_decode_tags(labels) if labels else (),
        traceparent=traceparent.decode() if traceparent else None,
        tracestate=tracestate.decode() if tracestate else None,
    )
