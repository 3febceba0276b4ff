"""The script calls of bulk operations: those of a queue's part, and those of the operation itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, queue_keys
from leaseforge.keys import bulk_key, queue_key, system_key
from leaseforge.limits import KEEP_OPERATION_MS, MAX_OPERATIONS, MAX_OPERATIONS_ALIVE, MAX_OPERATIONS_OF_ONE
from leaseforge.moves import Moved, moves
from leaseforge.records import Fields, pairs, whole
from leaseforge.scripts import ENGINE

OFFICE = "bulk"
"""Whoever holds it carries out all bulk operations."""
ALL = "bulk"
ALIVE = "bulk-alive"
DROPPED = "dropped"
"""What operations aborted before they began are asked for by; "aborted" then means those that had begun."""

_FAILED = "failed:"


@dataclass(frozen=True, slots=True)
class Part:
    """What one queue knows of an operation, as of one instant.

    `found` jobs were written down; `at` of them were taken. Of those: `done`, `changed` since they were written down,
    `gone`, and `failed` by kind. `well` and `again` count outcomes of watched jobs. `step` and `stage` say where the
    walk stands, `fault` is the last fault's text.
    """

    stage: int = 0
    step: int = 0
    found: int = 0
    searched: int = 0
    at: int = 0
    done: int = 0
    changed: int = 0
    gone: int = 0
    well: int = 0
    again: int = 0
    failed: tuple[tuple[str, int], ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What a call on a part answered: ok, or why nothing was done, and the part as it is now."""

    word: str
    part: Part
    moves: tuple[Moved, ...] = ()


Raw = tuple[str, Fields]
"""An operation's id and its fields, as stored."""


def collect(
    queue: str,
    operation_id: str,
    *,
    key: str,
    state: str,
    term: int,
    step: int,
    as_of_ms: int,
    limit: int,
    most: int,
    wanted: Mapping[str, Any],
) -> Call[Told]:
    """One step through the set `key` of a queue: ok, already_done, fenced."""
    keys = (*queue_keys(queue), ("set", queue_key(queue, key)), *_part_keys(queue, operation_id, "chosen", "seen"))
    args: tuple[tuple[str, Arg], ...] = (
        ("term", term),
        ("step", step),
        ("state", state),
        ("as_of_ms", as_of_ms),
        ("limit", limit),
        ("most", most),
        ("wanted", msgspec.msgpack.encode(wanted)),
        ("keep_ms", KEEP_OPERATION_MS),
    )
    return Call(ENGINE.load("bulk_collect"), keys, args, _told)


def pick(
    queue: str,
    operation_id: str,
    ids: Sequence[str],
    *,
    term: int,
    step: int,
    as_of_ms: int,
    wanted: Mapping[str, Any],
    stage: int,
) -> Call[Told]:
    """One step through named jobs: ok, already_done, fenced. `stage` is the part's after it."""
    args: tuple[tuple[str, Arg], ...] = (
        ("term", term),
        ("step", step),
        ("as_of_ms", as_of_ms),
        ("wanted", msgspec.msgpack.encode(wanted)),
        ("keep_ms", KEEP_OPERATION_MS),
        ("stage", stage),
    )
    keys = (*queue_keys(queue), *_part_keys(queue, operation_id, "chosen"))
    return Call(ENGINE.load("bulk_pick"), keys, args, _told, tuple(ids))


def act(
    queue: str, operation_id: str, action: str, *, term: int, run: int, at: int, limit: int, watch: int
) -> Call[Told]:
    """Acts on the next jobs of a queue: ok, already_done, fenced, halted, not_found."""
    states = ("ready", "running", "scheduled", "retrying", "completed", "cancelled", "dead")
    keys = (
        *queue_keys(queue, "meta", "counts", *states, "groups", "wake"),
        *_part_keys(queue, operation_id, "chosen", "watched"),
    )
    args: tuple[tuple[str, Arg], ...] = (
        ("term", term),
        ("run", run),
        ("at", at),
        ("limit", limit),
        ("action", action),
        ("operation", operation_id),
        ("watch", watch),
        ("keep_ms", KEEP_OPERATION_MS),
    )
    return Call(ENGINE.load("bulk_act"), keys, args, _told)


def judge(queue: str, operation_id: str, *, limit: int) -> Call[Told]:
    """Looks at what became of watched jobs: ok, not_found."""
    keys = (*queue_keys(queue), *_part_keys(queue, operation_id, "watched"))
    return Call(ENGINE.load("bulk_judge"), keys, (("operation", operation_id), ("limit", limit)), _told)


def halt(queue: str, operation_id: str, run: int) -> Call[Told]:
    """From now on no call of this run or an earlier one acts on the queue: ok, not_found."""
    keys = (*queue_keys(queue), *_part_keys(queue, operation_id))
    return Call(ENGINE.load("bulk_halt"), keys, (("run", run),), _told)


def read_part(queue: str, operation_id: str, *, sample: int = 0) -> Call[tuple[Part, list[tuple[str, str]]]]:
    """A queue's part, and id and type of the first `sample` jobs that are left."""

    def read(raw: Sequence[Any]) -> tuple[Part, list[tuple[str, str]]]:
        rows = [(job_id.decode("utf-8", "replace"), job_type.decode("utf-8", "replace")) for job_id, job_type in raw[1]]
        return _part(raw[0]), rows

    keys = (*queue_keys(queue), *_part_keys(queue, operation_id, "chosen"))
    return Call(ENGINE.load("bulk_part"), keys, (("sample", sample),), read)


def drop(queue: str, operation_id: str) -> Call[int]:
    """Removes a queue's part."""
    keys = (*queue_keys(queue), *_part_keys(queue, operation_id, "chosen", "seen", "watched"))
    return Call(ENGINE.load("bulk_drop"), keys, (), lambda raw: int(raw))


def create(operation_id: str, fields: Mapping[str, str], *, user: str) -> Call[tuple[Answer, tuple[str, ...]]]:
    """Stores an operation that collects: ok, duplicate, refused (too many are not over, of the user or of all).

    When refused, the ids of the user's own that are not over, oldest first.
    """

    def read(raw: Sequence[bytes]) -> tuple[Answer, tuple[str, ...]]:
        return Answer(raw[0].decode()), tuple(own.decode() for own in raw[1:])

    args: tuple[tuple[str, Arg], ...] = (
        ("id", operation_id),
        ("user", user),
        ("most_own", MAX_OPERATIONS_OF_ONE),
        ("most_alive", MAX_OPERATIONS_ALIVE),
        ("most", MAX_OPERATIONS),
        ("keep_ms", KEEP_OPERATION_MS),
    )
    keys = (*_guard(), _operation(operation_id), ("operations", system_key(ALL)), ("alive", system_key(ALIVE)))
    return Call(ENGINE.load("bulk_create"), keys, args, read, _flat(fields))


def steer(
    operation_id: str, verb: str, *, user: str, reason: str, fields: Mapping[str, str] | None = None
) -> Call[tuple[Answer, str, int]]:
    """What an operator does: ok, already_done, not_found, conflict; the state, and which run it is.

    `fields` are set if the step is taken.
    """
    args = (("verb", verb), ("user", user), ("reason", reason), ("keep_ms", KEEP_OPERATION_MS))
    keys = (*_guard(), _operation(operation_id))
    return Call(
        ENGINE.load("bulk_steer"),
        keys,
        args,
        lambda raw: (Answer(raw[0].decode()), raw[1].decode(), int(raw[2])),
        _flat(fields or {}),
    )


def note(
    operation_id: str, fields: Mapping[str, str], *, term: int, before: str, after: str, is_over: bool = False
) -> Call[tuple[Answer, str]]:
    """What the runner says: ok, conflict (an operator was faster; the fields are written), fenced, not_found."""
    args: tuple[tuple[str, Arg], ...] = (
        ("term", term),
        ("id", operation_id),
        ("before", before),
        ("after", after),
        ("is_over", int(is_over)),
        ("keep_ms", KEEP_OPERATION_MS),
    )
    office = ("office", system_key(f"office:{OFFICE}"))
    keys = (*_guard(), office, _operation(operation_id), ("alive", system_key(ALIVE)))
    return Call(
        ENGINE.load("bulk_note"),
        keys,
        args,
        lambda raw: (Answer(raw[0].decode()), raw[1].decode()),
        _flat(fields),
    )


def read_operation(operation_id: str) -> Call[Raw | None]:
    """One operation, or None."""
    keys = (*_guard(), _operation(operation_id))
    return Call(ENGINE.load("bulk_read"), keys, (), lambda raw: (operation_id, pairs(raw)) if raw else None)


def read_operations(index: str, *, offset: int, limit: int, states: Sequence[str] = ()) -> Call[tuple[int, list[Raw]]]:
    """A page of ALL operations or of those ALIVE, newest first, and how many there are; of `states` only, if any."""

    def read(raw: Sequence[Any]) -> tuple[int, list[Raw]]:
        return raw[0], [(operation_id.decode(), pairs(fields)) for operation_id, fields in raw[1]]

    keys = (*_guard(), ("operations", system_key(index)))
    return Call(ENGINE.load("bulk_list"), keys, (("offset", offset), ("limit", limit)), read, tuple(states))


def _guard() -> tuple[tuple[str, str], ...]:
    return (("guard", system_key("guard")),)


def _operation(operation_id: str) -> tuple[str, str]:
    return ("operation", system_key(f"bulk:{operation_id}"))


def _part_keys(queue: str, operation_id: str, *others: str) -> tuple[tuple[str, str], ...]:
    return (
        ("part", bulk_key(queue, operation_id)),
        *((name, bulk_key(queue, operation_id, name)) for name in others),
    )


def _flat(fields: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for pair in fields.items() for word in pair)


def _told(raw: Sequence[Any]) -> Told:
    return Told(raw[0].decode(), _part(raw[1]), moves(raw, 2))


def _part(flat: Sequence[bytes]) -> Part:
    fields = pairs(flat)
    failed = {name.removeprefix(_FAILED): whole(n) for name, n in fields.items() if name.startswith(_FAILED)}
    numbers = {name: whole(fields.get(name)) for name in _NUMBERS}
    return Part(**numbers, failed=tuple(sorted(failed.items())), fault=fields.get("fault", ""))


_NUMBERS = ("stage", "step", "found", "searched", "at", "done", "changed", "gone", "well", "again")
