"""A queue in one shape, whether the model says it must be so or the server says it is: so the two can be compared.

Times are logical (see clockwork), sets are {member: score}, an absent field is the same as its default.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec

from leaseforge.jobs import JobState
from tests.model.clockwork import GRID_MS, Entry
from tests.support.audit import PARTS, Snapshot

STATES = tuple(str(state) for state in JobState)
ENDED = frozenset({"completed", "cancelled", "dead"})
COARSE = (300, 3600)

_TIMES = frozenset({"created_at", "ready_at", "scheduled_at", "started_at", "finished_at"})
_WHOLE = frozenset(
    {"priority", "seq", "attempts", "attempts_base", "failures", "recoveries", "replays", "releases", "rev"}
    | {"unique_ttl", "size"}
)
_OWN = frozenset({*STATES, "meta", "counts", "types", "dead:groups", "outbox", "wake"})


@dataclass(slots=True)
class JobPicture:
    """A job's record and parts. `place` is its score in its state's set: due time, lease expiry, time of the end."""

    type: str
    state: str
    created_at: int
    payload: bytes | None = b""
    priority: int = 0
    seq: int = 0
    ready_at: int | None = None
    scheduled_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    attempts: int = 0
    attempts_base: int = 0
    failures: int = 0
    recoveries: int = 0
    replays: int = 0
    releases: int = 0
    token: str = ""
    settled: str = ""
    worker: str = ""
    error_kind: str | None = None
    error: str | None = None
    reason: str | None = None
    fp: str | None = None
    unique_key: str | None = None
    unique_ttl: int = 0
    last_op: str | None = None
    cancel_requested: str | None = None
    progress: str | None = None
    logged: str | None = None
    rev: int = 0
    size: int = 0
    content_type: str | None = None
    options: str | None = None
    tags: str | None = None
    traceparent: str | None = None
    created_by: str | None = None
    result: bytes | None = None
    log: list[tuple[int, int, str, str]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class QueuePicture:
    """Everything a queue's keys hold. `groups` are {key: (title, {id: died})}; keys that end carry the time last."""

    jobs: dict[str, JobPicture] = field(default_factory=dict)
    sets: dict[str, dict[str, int]] = field(default_factory=lambda: {state: {} for state in STATES})
    meta: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    groups: dict[str, tuple[str, dict[str, int]]] = field(default_factory=dict)
    unique: dict[str, tuple[str, int]] = field(default_factory=dict)
    idem: dict[str, tuple[str, int]] = field(default_factory=dict)
    claims: dict[str, tuple[int, tuple[tuple[str, str], ...], int]] = field(default_factory=dict)
    outbox: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    wake: int = 0
    buckets: dict[int, dict[str, int]] = field(default_factory=dict)
    coarse: dict[int, dict[str, int]] = field(default_factory=lambda: {step: {} for step in COARSE})


@dataclass(slots=True)
class Seen:
    """One queue as the server has it: its picture, and the same keys as the audit of all engine tests reads them."""

    picture: QueuePicture
    raw: Snapshot


def see(entries: Sequence[Entry], queues: Sequence[str], base_ms: int) -> dict[str, Seen]:
    """Reads the keys of the named queues. A key of no known kind is an error."""
    seen = {}
    for queue in queues:
        prefix = f"lf:{{{queue}}}:"
        mine = [(name.removeprefix(prefix), value, ends) for name, _, value, ends in entries if name.startswith(prefix)]
        seen[queue] = _Reader(base_ms).read(mine)
    return seen


def differences(expected: QueuePicture, seen: QueuePicture) -> list[str]:
    """Where two pictures differ, in words: what must be, and what is."""
    found: list[str] = []
    for spec in fields(QueuePicture):
        one, other = getattr(expected, spec.name), getattr(seen, spec.name)
        if one != other:
            found += (
                _map_differences(spec.name, one, other) if isinstance(one, dict) else [f"{spec.name}: {one} {other}"]
            )
    return found


def _map_differences(name: str, expected: dict[Any, Any], seen: dict[Any, Any]) -> Iterator[str]:
    for key in sorted({*expected, *seen}, key=str):
        one, other = expected.get(key), seen.get(key)
        if one == other:
            continue
        if isinstance(one, JobPicture) and isinstance(other, JobPicture):
            for spec in fields(JobPicture):
                left, right = getattr(one, spec.name), getattr(other, spec.name)
                if left != right:
                    yield f"job {key} {spec.name}: must be {left!r}, is {right!r}"
        else:
            yield f"{name}[{key}]: must be {one!r}, is {other!r}"


class _Reader:
    def __init__(self, base_ms: int) -> None:
        self._base_ms = base_ms
        self._picture = QueuePicture()

    def read(self, entries: Sequence[tuple[str, Any, int]]) -> Seen:
        records: dict[str, Mapping[str, str]] = {}
        raw_sets: dict[str, dict[str, float]] = {state: {} for state in STATES}
        parts: dict[str, bytes] = {}
        others: dict[str, bytes] = {}
        members: dict[str, dict[str, int]] = {}
        picture = self._picture
        for name, value, ends in entries:
            kind, _, rest = name.partition(":")
            if kind == "job" and ":" not in rest:
                records[rest] = _texts(value)
            elif kind == "job":
                parts[rest] = value
            elif name in STATES:
                raw_sets[name] = {member: float(score) for member, score in _texts(value).items()}
            elif name in _OWN:
                self._read_own(name, value)
            elif kind == "stats":
                self._read_bucket(rest, value)
            elif name.startswith("dead:group:"):
                scores = _texts(value)
                members[name.removeprefix("dead:group:")] = {job: self._time(at) for job, at in scores.items()}
            else:
                self._read_ending(kind, rest, value, ends)
                others[name] = value if isinstance(value, bytes) else repr(value).encode()
        for job_id, record in records.items():
            picture.jobs[job_id] = self._job(job_id, record, parts)
        for state, places in raw_sets.items():
            picture.sets[state] = {
                member: int(score) if state == "ready" else self._time(score) for member, score in places.items()
            }
        titles = picture.groups
        picture.groups = {
            group: (titles.get(group, ("no title", {}))[0], members.get(group, {})) for group in {*titles, *members}
        }
        raw = Snapshot(
            records=records,
            parts=parts,
            sets=raw_sets,
            meta=self._raw_meta,
            counts=picture.counts,
            wake=picture.wake,
            others=others,
        )
        return Seen(picture, raw)

    _raw_meta: Mapping[str, str] = {}

    def _read_own(self, name: str, value: Any) -> None:
        picture = self._picture
        match name:
            case "meta":
                self._raw_meta = _texts(value)
                picture.meta = {field: self._meta_word(field, word) for field, word in self._raw_meta.items()}
            case "counts":
                picture.counts = {field: int(word) for field, word in _texts(value).items() if word != "0"}
            case "types":
                picture.types = {field: self._time(word) for field, word in _texts(value).items()}
            case "dead:groups":
                picture.groups = {group: (title, {}) for group, title in _texts(value).items()}
            case "outbox":
                picture.outbox = {job_id: tuple(_unpacked(packed)) for job_id, packed in _pairs(value)}
            case "wake":
                picture.wake = len(value)

    def _meta_word(self, name: str, word: str) -> str:
        if name in ("swept_at", "recover_from", "tokens_at"):
            return str(self._time(word))
        if name == "rolled":
            return str(self._bucket(word))
        return str(float(word)) if name in ("tokens", "rate") else word

    def _read_bucket(self, rest: str, value: Any) -> None:
        step, _, number = rest.partition(":")
        summed: dict[str, int] = {}
        for field_name, word in _texts(value).items():
            name = _without_class(field_name)
            summed[name] = summed.get(name, 0) + int(word)
        if step == "10":
            self._picture.buckets[self._bucket(number)] = summed
        else:
            into = self._picture.coarse[int(step)]
            for name, amount in summed.items():
                into[name] = into.get(name, 0) + amount

    def _read_ending(self, kind: str, rest: str, value: Any, ends: int) -> None:
        at = self._time(ends)
        match kind:
            case "unique":
                self._picture.unique[rest] = (value.decode(), at)
            case "idem":
                digest, _, job_id = value.decode().partition(" ")
                assert len(digest) == 64, value
                self._picture.idem[rest] = (job_id, at)
            case "claim":
                number, *words = msgspec.msgpack.decode(value, type=list[str])
                self._picture.claims[rest] = (int(number), tuple(zip(words[::2], words[1::2], strict=True)), at)
            case _:
                raise AssertionError(f"a key of no known kind: {kind}:{rest}")

    def _job(self, job_id: str, record: Mapping[str, str], parts: Mapping[str, Any]) -> JobPicture:
        values: dict[str, Any] = {}
        for name, word in record.items():
            values[name] = self._time(word) if name in _TIMES else int(word) if name in _WHOLE else word
        job = JobPicture(**{"type": "", "state": "", "created_at": 0, **values})
        job.payload = parts.get(f"{job_id}:in")
        job.result = parts.get(f"{job_id}:out")
        job.log = [self._log_line(packed) for packed in parts.get(f"{job_id}:log", ())]
        job.history = [self._attempt(packed) for packed in parts.get(f"{job_id}:history", ())]
        assert f"{job_id}:corrupt" not in parts
        assert {name.partition(":")[2] for name in parts} <= {*PARTS}
        return job

    def _log_line(self, packed: bytes) -> tuple[int, int, str, str]:
        number, at, fence, text = msgspec.msgpack.decode(packed)
        return number, self._time(at), fence, text

    def _attempt(self, packed: bytes) -> dict[str, Any]:
        entry: dict[str, Any] = msgspec.msgpack.decode(packed)
        return {**entry, "s": self._time(entry["s"]), "e": self._time(entry["e"])}

    def _time(self, ms: str | float) -> int:
        at = int(float(ms)) - self._base_ms
        assert at % GRID_MS == 0, f"{ms} is not on the grid"
        return at

    def _bucket(self, number: str) -> int:
        return int(number) - self._base_ms // GRID_MS


def _without_class(name: str) -> str:
    """wait:<class>:<type> without its class: how many ms something took within a step is the machine's affair."""
    parts = name.split(":", 2)
    return f"{parts[0]}:{parts[2]}" if len(parts) == 3 else name


def _unpacked(packed: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(packed):
        (size,) = struct.unpack_from(">I", packed, at)
        yield packed[at + 4 : at + 4 + size]
        at += 4 + size


def _pairs(flat: Sequence[bytes]) -> list[tuple[str, bytes]]:
    return [(name.decode(), value) for name, value in zip(flat[::2], flat[1::2], strict=True)]


def _texts(flat: Sequence[bytes]) -> dict[str, str]:
    return {name: value.decode() for name, value in _pairs(flat)}
