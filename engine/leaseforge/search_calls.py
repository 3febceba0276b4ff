"""One look into one set of jobs, as a call; and places in sets, which sort as Redis sorts them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nextafter
from typing import Any

from leaseforge.calls import Call, queue_keys
from leaseforge.filters import Filter
from leaseforge.jobs import Job, JobState
from leaseforge.keys import queue_key
from leaseforge.records import job_from, pairs
from leaseforge.scripts import ENGINE

NEWEST_FIRST = frozenset({JobState.COMPLETED, JobState.CANCELLED, JobState.DEAD})
_SEQUENCE = 16
"""Digits in front of the ids of ready jobs."""
_LONGEST_MEMBER = 56
"""A sequence and an id have 52 bytes. Of what is longer (damage) a place keeps the beginning."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a set: a score as Redis wrote it, and a member."""

    score: str
    member: bytes

    def order(self, state: JobState) -> tuple[float, bytes]:
        """What is smaller stands first in lists of this state."""
        if state in NEWEST_FIRST:
            return -float(self.score), bytes(255 - byte for byte in self.member) + b"\xff"
        return float(self.score), self.member

    def passed(self, score: float, state: JobState) -> bool:
        """Whether it stands behind everything of this score."""
        return float(self.score) < score if state in NEWEST_FIRST else float(self.score) > score


@dataclass(frozen=True, slots=True)
class Match:
    """A job that matches and where it stands. Its record is read when it is asked for: most of a round are not."""

    spot: Spot
    entry: bytes
    score: bytes
    record: Sequence[Any]

    def job(self, queue: str, state: JobState) -> Job:
        """The job, without its payload."""
        is_long = state is JobState.READY and len(self.entry) > _SEQUENCE
        job_id = (self.entry[_SEQUENCE:] if is_long else self.entry).decode("utf-8", "replace")
        return job_from(queue, job_id, pairs(self.record), score=self.score)


@dataclass(frozen=True, slots=True)
class Looked:
    """What one look found, in the set's order; `spot` is the last job looked at, None if there was none."""

    size: int
    looked: int
    ends: bool
    spot: Spot | None
    found: tuple[Match, ...]


def sizes_call(queue: str, sets: Sequence[str]) -> Call[tuple[int, list[int]] | None]:
    """Redis' time and how many jobs some of a queue's sets hold; None if there is no such queue."""

    def read(raw: Sequence[int]) -> tuple[int, list[int]] | None:
        return (raw[0], list(raw[1:])) if raw else None

    return Call(ENGINE.load("read_sizes"), queue_keys(queue, "meta"), (), read, sets)


def heads_call(queue: str, states: Sequence[JobState]) -> Call[list[Spot | None]]:
    """Where the first job of each of these states of a queue stands; None where there is none."""

    def read(raw: Sequence[Any]) -> list[Spot | None]:
        return [_spot(head[0], head[1], state) if head else None for state, head in zip(states, raw, strict=True)]

    return Call(ENGINE.load("read_heads"), queue_keys(queue), (), read, [state.value for state in states])


def search_call(
    queue: str, key: str, state: JobState, asked: Filter, behind: Spot | None, look: int, want: int
) -> Call[Looked]:
    """Looks at the next `look` jobs of a set, or fewer if `want` of them match."""

    def read(raw: Sequence[Any]) -> Looked:
        size, looked, ends, score, member, rows = raw
        found = tuple(Match(_spot(at, entry, state), entry, at, record) for entry, at, record in rows)
        return Looked(size, looked, bool(ends), _spot(score, member, state) if looked else None, found)

    keys = (("guard", queue_key(queue, "guard")), ("set", key))
    args = (
        ("state", state.value),
        ("score", behind.score if behind else ""),
        ("member", behind.member if behind else b""),
        ("look", look),
        ("want", want),
        *asked.words(),
    )
    return Call(ENGINE.load("search_jobs"), keys, args, read)


def _spot(score: bytes, member: bytes, state: JobState) -> Spot:
    if len(member) <= _LONGEST_MEMBER:
        return Spot(score.decode(), member)
    kept = member[:_LONGEST_MEMBER]
    if state in NEWEST_FIRST:
        return Spot(score.decode(), kept)
    # Behind all that begin alike: the beginning itself would stand before its member, which would come for ever.
    kept = kept.rstrip(b"\xff")
    if not kept:
        return Spot(repr(nextafter(float(score), inf)), b"")
    return Spot(score.decode(), kept[:-1] + bytes([kept[-1] + 1]))
