"""What the audit trail asks of Redis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, answer
from leaseforge_auth import keys
from leaseforge_auth.audit.chain import Head
from leaseforge_auth.audit.entries import Step, Stored
from leaseforge_auth.calls import SCRIPTS

MOST_AT_ONCE = 200
_NEWEST = 2**53


@dataclass(frozen=True, slots=True)
class State:
    """Both ends of the trail as stored, and Redis's time in ms."""

    now_ms: int
    head: Head
    anchor: Head


@dataclass(frozen=True, slots=True)
class Linked:
    """An entry ready to be stored behind the one it is linked to."""

    body: bytes
    mac: str
    kid: str
    action_id: str
    step: Step


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some entries in a row, and how many there are in all."""

    total: int
    entries: tuple[Stored, ...]


def read_state() -> Call[State]:
    """Where the trail begins and ends."""

    def read(raw: Sequence[Any]) -> State:
        words = [value.decode() for value in raw[1:]]
        return State(int(raw[0]), _place(words[:3]), _place(words[3:]))

    return Call(SCRIPTS.load("audit_head"), _keys("entries", "head"), (), read)


def append(before: Head, after: Head, entries: Sequence[Linked]) -> Call[tuple[Answer, int]]:
    """Stores entries linked to `before`: ok or conflict, and Redis's time in ms."""
    rest: list[Arg] = []
    for entry in entries:
        rest += (entry.body, entry.mac, entry.kid, entry.action_id, entry.step)
    args: tuple[tuple[str, Arg], ...] = (("sequence", before.sequence), ("mac", before.mac), ("seal", after.seal))

    def read(raw: Sequence[Any]) -> tuple[Answer, int]:
        return answer(raw[0]), int(raw[1])

    return Call(SCRIPTS.load("audit_append"), _keys("entries", "head", "open"), args, read, rest)


def trim(anchor: Head) -> Call[Answer]:
    """Drops the entries up to this one, 200 at most."""
    args: tuple[tuple[str, Arg], ...] = (
        ("sequence", anchor.sequence),
        ("mac", anchor.mac),
        ("seal", anchor.seal),
    )
    return Call(SCRIPTS.load("audit_trim"), _keys("entries", "head", "open"), args, answer)


def read_back(before: int | None = None, *, count: int = MOST_AT_ONCE) -> Call[Stretch]:
    """Entries older than the one with the sequence `before`, newest first."""
    return _read((_NEWEST if before is None else before) - 1, count, backward=True)


def read_on(after: int, *, count: int = MOST_AT_ONCE) -> Call[Stretch]:
    """Entries newer than the one with the sequence `after`, oldest first."""
    return _read(after + 1, count, backward=False)


def _read(start: int, count: int, *, backward: bool) -> Call[Stretch]:
    def read(raw: Sequence[Any]) -> Stretch:
        rows = [raw[i : i + 5] for i in range(1, len(raw), 5)]
        entries = (Stored(int(n), body, mac.decode(), kid.decode(), opened == 1) for n, body, mac, kid, opened in rows)
        return Stretch(int(raw[0]), tuple(entries))

    args: tuple[tuple[str, Arg], ...] = (("from", max(start, 0)), ("count", count), ("backward", int(backward)))
    return Call(SCRIPTS.load("audit_read"), _keys("entries", "open"), args, read)


def _place(words: Sequence[str]) -> Head:
    sequence, mac, seal = words
    return Head(int(sequence) if sequence.isdecimal() else 0, mac, seal)


def _keys(*names: str) -> tuple[tuple[str, str], ...]:
    known = {"entries": keys.AUDIT, "head": keys.AUDIT_HEAD, "open": keys.AUDIT_OPEN}
    return keys.named(**{name: known[name] for name in names})
