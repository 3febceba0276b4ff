"""What API, console and producers look at, as plans. Each answer is one script's: one instant, no torn reads."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Generic, TypeVar

import msgspec

from leaseforge import limits
from leaseforge.calls import Batch, Call, Plan, queue_keys
from leaseforge.errors import BadInput, FieldProblem, JobNotFound, QueueNotFound, ScriptFault, WorkerNotFound
from leaseforge.jobs import DeadGroup, Job, JobState, LogLine
from leaseforge.keys import queue_key, system_key, worker_command_key, worker_key
from leaseforge.queues import LIMIT_NAMES, QueueInfo, QueueLimits, check_queue_name, queue_name_problem
from leaseforge.records import instant, job_from, log_line, pairs, whole
from leaseforge.requests import is_job_id
from leaseforge.scripts import ENGINE
from leaseforge.workers import Command, WorkerInfo, WorkerReport, WorkerState, is_worker_id

T = TypeVar("T")
SIZES = ("ready", "running", "scheduled", "retrying", "completed", "cancelled", "dead")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A slice of a list: `total` counts the whole of it at the same instant."""

    items: tuple[T, ...]
    total: int
    offset: int
    limit: int


def queue_names() -> Plan[list[str]]:
    """The names of all known queues, sorted; at most 1,000. Whatever else is among them is left out."""
    call: Call[list[str]] = Call(
        ENGINE.load("read_queues"),
        (("queues", system_key("queues")),),
        (),
        lambda raw: [name for word in raw if not queue_name_problem(name := word.decode("utf-8", "replace"))],
    )
    return (yield from call)


def queue(name: str) -> Plan[QueueInfo]:
    """One queue. Raises QueueNotFound."""
    info = yield from _queue_call(check_queue_name(name))
    if info is None:
        raise QueueNotFound(name)
    return info


def queues() -> Plan[list[QueueInfo]]:
    """All queues, sorted by name. Each is one instant of its own."""
    return (yield from queues_named((yield from queue_names())))


def queues_named(names: Iterable[str]) -> Plan[list[QueueInfo]]:
    """Those of these queues that there are, in the order given."""
    found = yield from Batch([_queue_call(name) for name in names])
    return [info for info in found if info is not None]


def job(job_id: str) -> Plan[Job]:
    """One job by its id alone, whatever its queue. Raises JobNotFound."""
    return (yield from _job(job_id, None, content=True))


def head(job_id: str, *, queue: str | None = None) -> Plan[Job]:
    """The same without payload, result and history; of a known queue in one call. Raises JobNotFound."""
    return (yield from _job(job_id, queue, content=False))


def _job(job_id: str, queue: str | None, *, content: bool) -> Plan[Job]:
    if is_job_id(job_id):
        names = [queue] if queue is not None else (yield from queue_names())
        for found in (yield from Batch([job_call(name, job_id, content=content) for name in names])):
            if found is not None:
                return found
    raise JobNotFound(job_id)


def jobs(queue: str, state: JobState, *, offset: int = 0, limit: int = 50) -> Plan[Page[Job]]:
    """One page of a queue's jobs in one state, without payloads.

    Ready in claim order, scheduled and retrying by due time, running by lease expiry, ended ones
    newest first.
    """
    check_queue_name(queue)
    return (yield from _page_call(queue, state, state, offset, limit))


def _page_call(queue: str, key: str, state: JobState, offset: int, limit: int) -> Call[Page[Job]]:
    check_page(offset, limit)

    def read(raw: Sequence[Any]) -> Page[Job]:
        items = tuple(
            job_from(queue, job_id.decode("utf-8", "replace"), pairs(record), score=score)
            for job_id, record, score in raw[1]
        )
        return Page(items, raw[0], offset, limit)

    keys = (("guard", queue_key(queue, "guard")), ("set", queue_key(queue, key)))
    args = (("state", state.value), ("offset", offset), ("limit", limit))
    return Call(ENGINE.load("read_jobs"), keys, args, read)


def workers(*, offset: int = 0, limit: int = limits.MAX_PAGE) -> Plan[Page[WorkerInfo]]:
    """One page of the workers, the one seen last first; one that fell silent is listed as lost for a while."""
    check_page(offset, limit)

    def read(raw: Sequence[Any]) -> Page[WorkerInfo]:
        now = int(raw[0])
        items = tuple(info for row in raw[2] if (info := _worker(now, *row)) is not None)
        return Page(items, raw[1], offset, limit)

    call: Call[Page[WorkerInfo]] = Call(
        ENGINE.load("read_workers"),
        (("workers", system_key("workers")),),
        (("offset", offset), ("limit", limit)),
        read,
    )
    return (yield from call)


def all_workers() -> Plan[list[WorkerInfo]]:
    """Up to 1,000 workers, the one seen last first, a page at a time: one that reports meanwhile may move."""
    found: dict[str, WorkerInfo] = {}
    for offset in range(0, limits.MAX_WORKERS, limits.MAX_PAGE):
        page = yield from workers(offset=offset)
        found |= {info.id: info for info in page.items}
        if offset + page.limit >= page.total:
            break
    return list(found.values())


def readable(plan: Plan[T] | Call[T], otherwise: T) -> Plan[T]:
    """What a plan answers; `otherwise` if something of a foreign type stands in the place of what it reads.

    `foreign_keys` tells what that is.
    """
    try:
        return (yield from plan)
    except ScriptFault as fault:
        if "WRONGTYPE" not in str(fault):
            raise
        return otherwise


def foreign_keys() -> Plan[tuple[str, ...]]:
    """What stands in the place of keys that belong to no queue and is not ours, by whole name; at most 100 of a kind.

    So, too, entries among the names of queues that can be none. Keys of queues are told by their QueueInfo.
    """

    def read(raw: Sequence[Any]) -> tuple[str, ...]:
        keys, odd = ([text.decode("utf-8", "replace") for text in part] for part in raw)
        return (*keys, *(f"{system_key('queues')}: {name[:64]!r}" for name in odd))

    names = {"operations": "bulk", "alive": "bulk-alive"}
    keys = tuple((name, system_key(names.get(name, name))) for name in ENGINE.load("read_foreign").header.keys)
    call: Call[tuple[str, ...]] = Call(ENGINE.load("read_foreign"), keys, (("most", limits.MAX_PAGE),), read)
    return (yield from call)


def worker(worker_id: str) -> Plan[WorkerInfo]:
    """One worker. Raises WorkerNotFound."""
    if is_worker_id(worker_id):
        info = yield from _worker_call(worker_id)
        if info is not None:
            return info
    raise WorkerNotFound(worker_id)


def totals(infos: Iterable[QueueInfo]) -> Mapping[str, int]:
    """Lifecycle counters of all given queues together, by name."""
    sums: dict[str, int] = {}
    for info in infos:
        for name, value in info.totals.items():
            sums[name] = sums.get(name, 0) + value
    return sums


def check_page(offset: int, limit: int) -> None:
    """Refuses a page outside the bounds with BadInput."""
    problems = []
    if not 0 <= offset <= limits.MAX_OFFSET:
        problems.append(FieldProblem("offset", f"must be from 0 to {limits.MAX_OFFSET:,}"))
    if not 1 <= limit <= limits.MAX_PAGE:
        problems.append(FieldProblem("limit", f"must be from 1 to {limits.MAX_PAGE}"))
    if problems:
        raise BadInput(problems)


def check_group(group: object) -> None:
    """Refuses with BadInput what cannot be the key of a dead group."""
    is_text = isinstance(group, str) and 0 < len(group.encode("utf-8", "replace")) <= limits.MAX_GROUP_BYTES
    if not is_text:
        raise BadInput([FieldProblem("group", f"must be text of 1 to {limits.MAX_GROUP_BYTES} bytes")])


def log(queue: str, job_id: str) -> Plan[list[LogLine]]:
    """The lines a job logged, oldest first; at most 200. None for a job that is not there."""
    if not is_job_id(job_id):
        return []
    call: Call[list[LogLine]] = Call(
        ENGINE.load("read_log"),
        queue_keys(check_queue_name(queue)),
        (("id", job_id),),
        lambda raw: [log_line(entry) for entry in raw],
    )
    return (yield from call)


def groups(queue: str | None = None, *, offset: int = 0, limit: int = limits.MAX_PAGE) -> Plan[Page[DeadGroup]]:
    """One page of the dead jobs by kind of error, of one queue or of all, the largest group first."""
    check_page(offset, limit)
    names = [check_queue_name(queue)] if queue is not None else (yield from readable(queue_names(), []))
    sizes = yield from Batch([_group_sizes_call(name) for name in names])
    order = sorted((-size, name, key) for name, part in zip(names, sizes, strict=True) for key, size in part)
    wanted: dict[str, list[str]] = {}
    for _, name, key in order[offset : offset + limit]:
        wanted.setdefault(name, []).append(key)
    found = yield from Batch([groups_call(name, keys) for name, keys in wanted.items()])
    items = sorted((group for part in found for group in part), key=lambda one: (-one.size, one.queue, one.key))
    return Page(tuple(items), len(order), offset, limit)


def group(queue: str, key: str) -> Plan[DeadGroup | None]:
    """One group of a queue's dead jobs, or None once it holds none."""
    check_group(key)
    found = yield from groups_call(check_queue_name(queue), [key])
    return found[0] if found else None


def group_jobs(queue: str, group: str, *, offset: int = 0, limit: int = 50) -> Plan[Page[Job]]:
    """One page of a dead group's jobs, newest first, without payloads; none of a group that is not there."""
    check_queue_name(queue)
    check_group(group)
    return (yield from _page_call(queue, f"dead:group:{group}", JobState.DEAD, offset, limit))


def job_call(queue: str, job_id: str, *, content: bool = True) -> Call[Job | None]:
    """One job of a known queue, or None; without `content` payload, result and history are left out."""

    def read(raw: Sequence[Any]) -> Job | None:
        if not raw:
            return None
        record, payload, result, history, score = raw
        return job_from(queue, job_id, pairs(record), payload=payload, result=result, history=history, score=score)

    keys = queue_keys(queue, "running", "scheduled", "retrying")
    return Call(ENGINE.load("read_job"), keys, (("id", job_id), ("content", int(content))), read)


def _queue_call(name: str) -> Call[QueueInfo | None]:
    def read(raw: Sequence[Any]) -> QueueInfo | None:
        if not raw:
            return None
        now, paused, sequence, oldest, sizes, counts, limit_words, foreign = raw
        return QueueInfo(
            name=name,
            paused=bool(paused),
            counts={JobState(state): size for state, size in zip(SIZES, sizes, strict=True)},
            oldest_ready_s=None if oldest < 0 else max(0.0, (now - oldest) / 1000),
            totals={field: whole(value) for field, value in pairs(counts).items()},
            sequence=whole(sequence),
            as_of_ms=now,
            limits=_limits(limit_words),
            foreign_keys=tuple(key.decode() for key in foreign),
        )

    return Call(ENGINE.load("read_queue"), queue_keys(name, "meta", "counts", *SIZES), (), read)


def _limits(words: Sequence[bytes | None]) -> QueueLimits:
    given: dict[str, float] = {}
    for name, word in zip(LIMIT_NAMES, words, strict=True):
        with suppress(ValueError):  # damaged: the scripts take it for none as well
            if word is not None and isfinite(number := float(word)):
                given[name] = number
    return QueueLimits(**{name: value if name == "rate" else int(value) for name, value in given.items()})  # type: ignore[arg-type]  # the names decide which are whole


def _group_sizes_call(queue: str) -> Call[list[tuple[str, int]]]:
    def read(raw: Sequence[Any]) -> list[tuple[str, int]]:
        return [(key.decode("utf-8", "surrogateescape"), size) for key, size in zip(raw[::2], raw[1::2], strict=True)]

    return Call(ENGINE.load("read_group_sizes"), queue_keys(queue, "groups"), (), read)


def groups_call(queue: str, keys: Sequence[str]) -> Call[list[DeadGroup]]:
    """These groups of a queue, those of them that there are."""

    def read(raw: Sequence[Any]) -> list[DeadGroup]:
        groups = []
        for key, title, size, first, last in raw:
            job_type, kind, message, *_ = (title.decode("utf-8", "replace") + "\n\n").split("\n")
            first_at, last_at = (_at(int(float(score))) for score in (first, last))
            name = key.decode("utf-8", "replace")
            groups.append(DeadGroup(queue, name, job_type, kind, message, size, first_at, last_at))
        return groups

    rest = [key.encode("utf-8", "surrogateescape") for key in keys]
    return Call(ENGINE.load("read_groups"), queue_keys(queue, "groups"), (), read, rest)


def _worker_call(worker_id: str) -> Call[WorkerInfo | None]:
    def read(raw: Sequence[Any]) -> WorkerInfo | None:
        info = _worker(int(raw[0]), worker_id.encode(), raw[1], raw[2]) if raw else None
        return info and replace(info, wanted=_wanted(raw[3]))

    keys = (
        ("workers", system_key("workers")),
        ("worker", worker_key(worker_id)),
        ("command", worker_command_key(worker_id)),
    )
    return Call(ENGINE.load("read_worker"), keys, (("id", worker_id),), read)


def _worker(now: int, worker_id: bytes, seen: bytes, report: bytes | None) -> WorkerInfo | None:
    try:
        said = msgspec.msgpack.decode(report or b"", type=WorkerReport)
    except msgspec.MsgspecError:
        return None
    last_seen_ms = int(float(seen))
    return WorkerInfo(
        id=worker_id.decode("utf-8", "replace"),
        host=said.host,
        pid=said.pid,
        version=said.version,
        queues=said.queues,
        types=said.types,
        slots=said.slots,
        state=WorkerState.LOST if now - last_seen_ms > said.ttl_ms else said.state,
        rss_bytes=said.rss_bytes,
        started_at=_at(said.started_ms),
        last_seen_at=_at(last_seen_ms),
        longest_renewal_gap_ms=said.longest_renewal_gap_ms,
        running_count=said.running_count,
        running=said.running,
    )


def _wanted(standing: bytes) -> Command | None:
    _, _, word = standing.decode("ascii", "replace").partition(" ")
    with suppress(ValueError):  # damaged: the worker hears nothing of it either
        return Command(word)
    return None


def _at(ms: int) -> datetime:
    return instant(ms) or datetime.fromtimestamp(0, UTC)
