"""Everything a queue's keys hold, read with a raw client, and the rules that must hold for it at every quiet moment."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from leaseforge.jobs import JobState

STATES = tuple(str(state) for state in JobState)
TERMINAL = frozenset({"completed", "dead", "cancelled"})
PARTS = ("in", "out", "log", "history", "corrupt")
"""What may stand behind a job's record key."""
SEQUENCE_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A queue as its keys say it is. Sets are {member: score}; `parts` are a job's further keys as serialised values.

    `others` holds what is neither of a job nor one of the queue's own keys (claims, idempotency keys); the statistics,
    which every call may write, are left out.
    """

    records: Mapping[str, Mapping[str, str]]
    parts: Mapping[str, bytes]
    sets: Mapping[str, Mapping[str, float]]
    meta: Mapping[str, str]
    counts: Mapping[str, int]
    wake: int
    others: Mapping[str, bytes]

    def job_ids(self, state: str) -> list[str]:
        """The ids in a state's set, in the set's order."""
        return [_job_id(state, member) for member in self.sets[state]]

    def places(self, job_id: str) -> list[str]:
        """The states whose sets hold the job."""
        return self.places_by_id().get(job_id, [])

    def places_by_id(self) -> dict[str, list[str]]:
        """The states whose sets hold a job, for every job that any set holds."""
        places: dict[str, list[str]] = {}
        for state in STATES:
            for job_id in self.job_ids(state):
                places.setdefault(job_id, []).append(state)
        return places


def snapshot(client: Any, queue: str) -> Snapshot:
    """Reads all keys of a queue. The client is a plain redis.Redis; nothing may run meanwhile."""
    prefix = f"lf:{{{queue}}}:"
    keys = [key for key in client.scan_iter("*", count=1000) if key.startswith(prefix.encode())]
    names = [key.decode(errors="backslashreplace").removeprefix(prefix) for key in keys]
    records: dict[str, dict[str, str]] = {}
    parts: dict[str, bytes] = {}
    others: dict[str, bytes] = {}
    pipeline = client.pipeline(transaction=False)
    for key in keys:
        pipeline.type(key)
    kinds = pipeline.execute()
    for name, key, kind in zip(names, keys, kinds, strict=True):
        if _is_record(name) and kind == b"hash":
            pipeline.hgetall(key)
        else:
            pipeline.dump(key)
    for name, kind, value in zip(names, kinds, pipeline.execute(), strict=True):
        if _is_record(name) and kind == b"hash":
            records[name.removeprefix("job:")] = _text(value)
        elif name.startswith("job:"):
            parts[name.removeprefix("job:")] = value
        elif name not in (*STATES, "meta", "counts", "wake") and not name.startswith("stats:"):
            others[name] = value
    for state in STATES:
        pipeline.zrange(prefix + state, 0, -1, withscores=True)
    *members, meta, counts, wake = (
        pipeline.hgetall(prefix + "meta").hgetall(prefix + "counts").llen(prefix + "wake").execute()
    )
    return Snapshot(
        records=records,
        parts=parts,
        sets=dict(zip(STATES, map(_members, members), strict=True)),
        meta=_text(meta),
        counts={name: int(value) for name, value in _text(counts).items()},
        wake=wake,
        others=others,
    )


def differences(before: Snapshot, after: Snapshot, *, counts: bool = False) -> list[str]:
    """What changed between two snapshots, in words; the totals only if asked for."""
    found = []
    for field in fields(Snapshot):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new or (field.name == "counts" and not counts):
            continue
        if isinstance(old, Mapping):
            names = sorted({*old, *new}, key=str)
            found += [
                f"{field.name}[{name}]: {old.get(name)!r} -> {new.get(name)!r}"
                for name in names
                if old.get(name) != new.get(name)
            ]
        else:
            found.append(f"{field.name}: {old!r} -> {new!r}")
    return found


def audit(client: Any, queue: str, *, foreign: int = 0) -> Snapshot:
    """Fails with every broken rule of a quiet queue. `foreign`: planted entries that became jobs nobody enqueued."""
    seen = snapshot(client, queue)
    broken = problems(seen, foreign=foreign)
    assert not broken, f"queue {queue}:\n" + "\n".join(broken)
    return seen


def problems(seen: Snapshot, *, foreign: int = 0) -> list[str]:
    """The broken rules: one place a job, equal to its state; nothing without an owner; counters that add up."""
    places = seen.places_by_id()
    return [
        *(
            problem
            for job_id, record in seen.records.items()
            for problem in _record_problems(seen, job_id, record, places.get(job_id, []))
        ),
        *(
            f"{state} holds {member!r}, which has no record"
            for state in STATES
            for member in seen.sets[state]
            if _job_id(state, member) not in seen.records
        ),
        *_orphans(seen),
        *_counter_problems(seen, foreign),
    ]


def _record_problems(seen: Snapshot, job_id: str, record: Mapping[str, str], places: list[str]) -> list[str]:
    found = []
    state = record.get("state", "")
    if places != [state]:
        found.append(f"{job_id} is {state!r} and stands in {places}")
    if state == "ready":
        entry = f"{_number(record.get('seq')):0{SEQUENCE_DIGITS}d}{job_id}"
        score = seen.sets["ready"].get(entry)
        if score is None:
            found.append(f"{job_id} has sequence {record.get('seq')} but no entry {entry}")
        elif score != -_number(record.get("priority")):
            found.append(f"{job_id} has priority {record.get('priority')} and score {score}")
        if "ready_at" not in record:
            found.append(f"{job_id} is ready since never")
    if state == "running" and "." not in record.get("token", ""):
        found.append(f"{job_id} runs without a token")
    if state != "running" and "cancel_requested" in record:
        found.append(f"{job_id} is {state} and still asked to stop")
    if (state in TERMINAL) != ("finished_at" in record):
        found.append(f"{job_id} is {state}, finished_at is {record.get('finished_at')}")
    if (state == "dead") != ("reason" in record):
        found.append(f"{job_id} is {state}, its reason is {record.get('reason')}")
    if state != "dead" and f"{job_id}:in" not in seen.parts:
        found.append(f"{job_id} is {state} without a payload")
    if not record.get("rev", "").isdecimal():
        found.append(f"{job_id} has rev {record.get('rev')}")
    return found


def _orphans(seen: Snapshot) -> list[str]:
    found = []
    for name in seen.parts:
        owner, _, part = name.rpartition(":")
        if part not in PARTS or owner not in seen.records:
            found.append(f"job:{name} belongs to no record")
    if "guard" in seen.others:
        found.append("the guard exists")
    return found


def _counter_problems(seen: Snapshot, foreign: int) -> list[str]:
    found = [f"counter {name} is {value}" for name, value in seen.counts.items() if value < 0]
    held = sum(len(seen.sets[state]) for state in STATES)
    gone = sum(seen.counts.get(name, 0) for name in ("deleted", "purged", "trimmed"))
    if seen.counts.get("enqueued", 0) + foreign != held + gone:
        found.append(f"enqueued {seen.counts.get('enqueued', 0)} (+{foreign} foreign), held {held}, gone {gone}")
    sequence = _number(seen.meta.get("seq"))
    fence = _number(seen.meta.get("fence"))
    for job_id, record in seen.records.items():
        if _number(record.get("seq")) > sequence:
            found.append(f"{job_id} has sequence {record['seq']}, the queue only {sequence}")
        token = record.get("token", "") or record.get("settled", "")
        if token and int(token.partition(".")[0]) > fence:
            found.append(f"{job_id} has token {token}, the queue's last fence is {fence}")
    if seen.wake > 1:
        found.append(f"{seen.wake} wake tokens")
    return found


def _number(text: str | None) -> int:
    """A number as the scripts read it: damaged text counts as 0."""
    try:
        number = int(text or 0)
    except ValueError:
        return 0
    return number if abs(number) < 2**53 else 0


def _is_record(name: str) -> bool:
    return name.startswith("job:") and name.count(":") == 1


def _members(pairs: Any) -> dict[str, float]:
    return {member.decode(errors="backslashreplace"): score for member, score in pairs}


def _job_id(state: str, member: str) -> str:
    return member[SEQUENCE_DIGITS:] if state == "ready" else member


def _text(raw: Mapping[bytes, bytes]) -> dict[str, str]:
    return {
        name.decode(errors="backslashreplace"): value.decode(errors="backslashreplace") for name, value in raw.items()
    }
