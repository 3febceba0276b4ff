"""Calls as data: which script, which keys, which arguments in which order, and how to read the answer.

A Call does nothing by itself. `Store` (asyncio) and `SyncStore` (threads) carry it out, and a plan
(a generator that yields calls) strings several together: both are written once for both worlds.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from leaseforge import limits
from leaseforge.answers import Answer
from leaseforge.jobs import JobState
from leaseforge.keys import queue_key
from leaseforge.moves import Moved, moves
from leaseforge.scripts import ENGINE, Script

T = TypeVar("T")
Arg = str | bytes | int


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One script call. `args` name and value, in the header's order; `rest` repeats the header's last group.

    An executor may answer it with what it heard `fresh_for_s` ago at most, for calls whose answer lasts.
    """

    script: Script
    keys: tuple[tuple[str, str], ...]
    args: tuple[tuple[str, Arg], ...]
    read: Callable[[Any], T]
    rest: Sequence[Arg] = ()
    fresh_for_s: float = 0.0

    def __iter__(self) -> Generator["Call[Any]", Any, T]:
        """Lets a plan say `answer = yield from call`."""
        answer: T = yield self
        return answer

    def command(self) -> list[Arg]:
        """The words behind EVALSHA: number of keys, keys, arguments."""
        words: list[Arg] = [len(self.keys)]
        words += [key for _, key in self.keys]
        words += [value for _, value in self.args]
        words += self.rest
        return words


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    """Several calls of one kind that may travel together, in any order. Answers come in the order given."""

    calls: Sequence[Call[T]]

    def __iter__(self) -> Generator["Batch[Any]", Any, list[T]]:
        """Lets a plan say `answers = yield from Batch(calls)`."""
        answers: list[T] = yield self
        return answers


@dataclass(frozen=True, slots=True)
class Replicated(Generic[T]):
    """A call that counts as done only when `replicas` replicas have it too, within `timeout_ms`.

    Too few of them is StoreUnavailable with an unknown outcome, not an undone call.
    """

    call: Call[T]
    replicas: int = 1
    timeout_ms: int = 1000

    def __iter__(self) -> Generator["Replicated[Any]", Any, T]:
        """Lets a plan say `answer = yield from Replicated(call)`."""
        answer: T = yield self
        return answer


Step = Call[Any] | Batch[Any] | Replicated[Any]
Plan = Generator[Step, Any, T]
"""Several steps that end in a T, free of any question of async or sync."""


@lru_cache(maxsize=16_384)
def queue_keys(queue: str, *names: str) -> tuple[tuple[str, str], ...]:
    """The named keys of a queue, the guard first."""
    return tuple((name, queue_key(queue, _LONG_NAMES.get(name, name))) for name in ("guard", *names))


_LONG_NAMES = {"groups": "dead:groups"}
"""Names in Lua that are shorter than the key's."""


def answer(raw: bytes) -> Answer:
    """Reads a bare answer."""
    return Answer(raw.decode())


def pause(queue: str) -> Call[Answer]:
    """Stops claims from a queue: ok, already_done, not_found."""
    return Call(ENGINE.load("pause"), queue_keys(queue, "meta"), (), answer)


def resume(queue: str) -> Call[Answer]:
    """Lets claims from a queue go on: ok, already_done, not_found."""
    return Call(ENGINE.load("resume"), queue_keys(queue, "meta", "ready", "running", "wake"), (), answer)


@dataclass(frozen=True, slots=True)
class PurgedChunk:
    """How many jobs one chunk removed, and where the next one starts ('' when there is none)."""

    removed: int
    score: str
    skip: int


def purge(queue: str, *, sequence: int, as_of_ms: int, score: str = "-inf", skip: int = 0) -> Call[PurgedChunk]:
    """Removes one chunk of the ready jobs that were there at `as_of_ms` (Redis time)."""
    return Call(
        ENGINE.load("purge"),
        queue_keys(queue, "counts", "ready"),
        (("sequence", sequence), ("as_of_ms", as_of_ms), ("score", score), ("skip", skip)),
        lambda raw: PurgedChunk(raw[0], raw[1].decode(), raw[2]),
    )


def purge_dead(queue: str, *, before_ms: int) -> Call[tuple[int, int]]:
    """Removes up to 200 of the jobs that died before `before_ms` (Redis time): how many, and how many entries went."""
    return Call(
        ENGINE.load("purge_dead"),
        queue_keys(queue, "counts", "dead", "groups"),
        (("before_ms", before_ms), ("limit", limits.CHUNK)),
        lambda raw: (raw[0], raw[1]),
    )


@dataclass(frozen=True, slots=True)
class Acted:
    """What an operator's action on a job led to.

    On a conflict `holder` is the live job that has its unique key, '' if its state forbids the action.
    """

    answer: Answer
    state: str
    holder: str = ""
    moves: tuple[Moved, ...] = ()


def retry(queue: str, job_id: str, *, operation: str, payload: bytes | None = None) -> Call[Acted]:
    """From dead to ready: ok, already_done (same operation), not_found, conflict."""
    return Call(
        ENGINE.load("retry"),
        queue_keys(queue, "meta", "counts", "ready", "running", "dead", "groups", "wake"),
        (("id", job_id), ("operation", operation), ("replace", int(payload is not None)), ("payload", payload or b"")),
        _acted,
    )


def requeue(queue: str, job_id: str, *, operation: str) -> Call[Acted]:
    """From completed, cancelled or dead to ready, result cleared: ok, already_done, not_found, conflict."""
    names = ("meta", "counts", "ready", "running", "completed", "cancelled", "dead", "groups", "wake")
    return Call(ENGINE.load("requeue"), queue_keys(queue, *names), (("id", job_id), ("operation", operation)), _acted)


def cancel(queue: str, job_id: str, *, operation: str, only: Iterable[JobState] = ()) -> Call[Acted]:
    """Any live state, or `only` these -> cancelled; a running job is asked to stop.

    ok, already_done, not_found, conflict.
    """
    return Call(
        ENGINE.load("cancel"),
        queue_keys(queue, "counts", "ready", "scheduled", "retrying", "cancelled"),
        (("id", job_id), ("operation", operation), ("only", " ".join(only))),
        _acted,
    )


def promote_job(queue: str, job_id: str, *, operation: str) -> Call[Acted]:
    """From scheduled or retrying to ready: ok, already_done (same operation), not_found, conflict."""
    names = ("meta", "counts", "ready", "running", "scheduled", "retrying", "wake")
    args = (("id", job_id), ("operation", operation))
    return Call(ENGINE.load("promote_job"), queue_keys(queue, *names), args, _acted)


def delete(queue: str, job_id: str, *, only: Iterable[JobState] = ()) -> Call[Acted]:
    """Any state but running, or `only` these -> gone: ok, not_found, conflict."""
    names = ("counts", "ready", "scheduled", "retrying", "completed", "cancelled", "dead", "groups")
    return Call(ENGINE.load("delete"), queue_keys(queue, *names), (("id", job_id), ("only", " ".join(only))), _acted)


def _acted(raw: Sequence[Any]) -> Acted:
    answer, state, *more = raw
    return Acted(Answer(answer.decode()), state.decode(), more[0].decode() if more else "", moves(raw, 3))
