"""The invariants that must hold after any fault, proved from all keys of the store and from what was noted outside it.

I1 every acknowledged job is there, no refused one is. I2 a claim has one outcome, the accepted one belongs to the
highest claim, and no effect of a lower claim follows one of a higher. I3 a job is in the one place its state names, and
nothing is without an owner. I4 budgets are kept to, and history tells every attempt. I5 counters are sizes of sets.
I6 nothing is left to do. I7 nothing started before its time. I8 no lease was taken before it was over.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import redis

from leaseforge.keys import QUEUE_KEYS, queue_key, system_key
from leaseforge.limits import MAX_RECOVERIES
from tests.faults.ledger import Ledger, Line
from tests.faults.produced import Produced
from tests.support.audit import TERMINAL, Snapshot, problems, snapshot
from tests.support.references import reference_problems

_KEY = re.compile(r"lf:\{([^{}]+)\}:(.+)", re.DOTALL)
_OF_QUEUES = ("job:", "stats:", "idem:", "unique:", "claim:", "dead:group:")
_MORTAL = ("stats:", "idem:", "unique:", "claim:")
"""Keys that must go by themselves, whatever happens to who made them."""
_OF_SYSTEM = (
    "schema",
    "forms",
    "queues",
    "workers",
    "worker:",
    "command:",
    "office:",
    "consumers:",
    "guard",
    "stats:",
    "audit",
    "account",
    "admins",
    "attempts:",
    "services",
    "session",
    "spent:",
    "token",
)
_QUARANTINED = ("record_missing", "record_of_wrong_type", "payload_missing", "sequence_missing")
_HISTORY_KEPT = 20
_LOSSES = ("lost", "crashed")
_FAILURES = ("failed", "timeout")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One queue: its keys, every job's ended attempts, and what was noted outside."""

    queue: str
    seen: Snapshot
    history: Mapping[str, Sequence[Mapping[str, Any]]]
    lines: Mapping[str, Sequence[Line]]

    def jobs(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Jobs that were not damaged on purpose."""
        for job_id, record in self.seen.records.items():
            if record.get("type", "unknown") != "unknown" and record.get("reason") not in _QUARANTINED:
                yield job_id, record


def audit(
    url: str,
    ledger: Ledger | None = None,
    produced: Produced | None = None,
    *,
    ended: bool = True,
    lease_ms: int | None = None,
    foreign: int = 0,
    gone: int = 0,
) -> dict[str, Snapshot]:
    """Fails with every broken invariant; answers the queues as they are. Call it when no worker or producer acts.

    `ended`: all jobs must have ended (I6). `lease_ms`: the shortest lease in use (I8). `foreign`: planted entries that
    became jobs nobody enqueued. `gone`: so many acknowledged jobs may be missing (deleted or trimmed, or written within
    the second that a server may lose).
    """
    with redis.Redis.from_url(url) as client:
        found, queues = violations(client, ledger, produced, ended=ended, lease_ms=lease_ms, foreign=foreign, gone=gone)
    assert not found, f"{len(found)} violations:\n" + "\n".join(found[:50])
    return queues


def violations(
    client: Any,
    ledger: Ledger | None = None,
    produced: Produced | None = None,
    *,
    ended: bool = False,
    lease_ms: int | None = None,
    foreign: int = 0,
    gone: int = 0,
) -> tuple[list[str], dict[str, Snapshot]]:
    """What `audit` finds, in words that begin with the invariant, and the queues."""
    found, names = _keys(client)
    lines: dict[str, list[Line]] = {}
    for line in ledger.lines() if ledger else []:
        lines.setdefault(line.job, []).append(line)
    queues: dict[str, Snapshot] = {}
    for queue in sorted(names):
        seen = queues[queue] = snapshot(client, queue)
        evidence = Evidence(queue, seen, _histories(client, queue, seen), lines)
        found += [f"I3/I5 {queue}: {problem}" for problem in problems(seen, foreign=foreign)]
        found += [f"I3/I5 {queue}: {problem}" for problem in reference_problems(client, queue, seen)]
        for check in (_claims, _budgets, _times):
            found += [f"{problem[:2]} {queue}: {problem[3:]}" for problem in check(evidence)]
        if ended:
            found += _unfinished(queue, seen)
        if lease_ms is not None:
            found += _early_recoveries(evidence, lease_ms)
    for job_lines in lines.values():
        found += _effects(job_lines)
    if produced is not None:
        found += _promises(produced, queues, gone)
    return found, queues


def _keys(client: Any) -> tuple[list[str], set[str]]:
    """Every key must be one we know the meaning of, and of a queue that is listed."""
    found: list[str] = []
    used: set[str] = set()
    keys = list(client.scan_iter("*", count=1000))
    pipeline = client.pipeline(transaction=False)
    for key in keys:
        pipeline.pttl(key)
    for key, ttl in zip(keys, pipeline.execute(), strict=True):
        name = key.decode(errors="backslashreplace")
        match = _KEY.fullmatch(name)
        if match is None:
            found.append(f"I3 key {name} is none of ours")
            continue
        queue, rest = match.groups()
        if queue == "sys":
            if not rest.startswith(_OF_SYSTEM):
                found.append(f"I3 key {name} is unknown")
            continue
        used.add(queue)
        if rest not in QUEUE_KEYS and not rest.startswith(_OF_QUEUES):
            found.append(f"I3 key {name} is unknown")
        if rest.startswith(_MORTAL) and ttl == -1:
            found.append(f"I3 key {name} would stay for ever")
    listed = {queue.decode() for queue in client.zrange(system_key("queues"), 0, -1)}
    found += [f"I3 queue {queue} has keys and is not listed" for queue in sorted(used - listed)]
    return found, used


def _histories(client: Any, queue: str, seen: Snapshot) -> dict[str, list[Mapping[str, Any]]]:
    pipeline = client.pipeline(transaction=False)
    ids = [name.removesuffix(":history") for name in seen.parts if name.endswith(":history")]
    for job_id in ids:
        pipeline.lrange(queue_key(queue, f"job:{job_id}:history"), 0, -1)
    decode = msgspec.msgpack.Decoder(dict[str, Any]).decode
    return {
        job_id: [decode(entry) for entry in entries] for job_id, entries in zip(ids, pipeline.execute(), strict=True)
    }


def _promises(produced: Produced, queues: Mapping[str, Snapshot], gone: int) -> Iterator[str]:
    known = {job_id for seen in queues.values() for job_id in seen.records}
    missing = sorted(produced.acknowledged - known)
    if len(missing) > gone:
        for job_id in missing:
            yield f"I1 {job_id} was acknowledged and is gone"
    for job_id in sorted(produced.refused & known):
        yield f"I1 {job_id} was refused and is there"
    homes = Counter(job_id for seen in queues.values() for job_id in seen.records)
    for job_id, count in homes.items():
        if count > 1:
            yield f"I3 {job_id} is in {count} queues"


def _claims(evidence: Evidence) -> Iterator[str]:
    """One outcome a claim; a completion belongs to the highest claim, which ran to its end."""
    for job_id, record in evidence.jobs():
        lines = evidence.lines.get(job_id, [])
        history = evidence.history.get(job_id, [])
        accepted = [int(entry["f"]) for entry in history if entry["f"]]
        settled = int(record.get("settled", "0").partition(".")[0])
        if record.get("state") == "completed":
            accepted.append(settled)
        for fence, count in Counter(accepted).items():
            if count > 1:
                yield f"I2 claim {fence} of {job_id} has {count} outcomes"
        for fence, count in Counter(line.fence for line in lines if line.what == "start").items():
            if count > 1:
                yield f"I2 claim {fence} of {job_id} was started {count} times"
        if record.get("state") == "completed" and lines:
            highest = max(line.fence for line in lines)
            if settled < highest:
                yield f"I2 {job_id} was completed by claim {settled} although claim {highest} ran"
            if not any(line.what == "end" and line.fence == settled for line in lines):
                yield f"I2 {job_id} was completed by claim {settled}, which never came to its end"


def _effects(lines: Sequence[Line]) -> Iterator[str]:
    highest = 0
    for line in lines:
        if line.what != "effect":
            continue
        if line.fence < highest:
            yield f"I2 {line.job}: effect of claim {line.fence} after one of claim {highest}"
        highest = max(highest, line.fence)


def _budgets(evidence: Evidence) -> Iterator[str]:
    for job_id, record in evidence.jobs():
        history = evidence.history.get(job_id, [])
        attempts, failures = int(record.get("attempts", "0")), int(record.get("failures", "0"))
        recoveries = int(record.get("recoveries", "0"))
        options = json.loads(record.get("options") or "{}")
        if "m" in options and options["m"] and failures > options["m"]:
            yield f"I4 {job_id} failed {failures} times, allowed are {options['m']}"
        poisoned = record.get("reason") == "poison"
        if recoveries > MAX_RECOVERIES + poisoned:
            yield f"I4 {job_id} was recovered {recoveries} times and is {record.get('state')}"
        if poisoned and recoveries <= MAX_RECOVERIES:
            yield f"I4 {job_id} is poison after {recoveries} lost leases"
        if "replays" in record or attempts > _HISTORY_KEPT:
            continue  # budgets began anew, or the oldest attempts are forgotten
        outcomes = Counter(entry["o"] for entry in history)
        under_way = record.get("state") in ("running", "completed")
        if len(history) + under_way != attempts:
            yield f"I4 {job_id} is {record.get('state')} with {attempts} attempts, told are {dict(outcomes)}"
        for name, total, kinds in (("failures", failures, _FAILURES), ("recoveries", recoveries, _LOSSES)):
            if sum(outcomes[kind] for kind in kinds) != total:
                yield f"I4 {job_id} has {total} {name}, told are {dict(outcomes)}"


def _times(evidence: Evidence) -> Iterator[str]:
    """On Redis's clock alone, so that a worker's clock can be as wrong as it likes."""
    for job_id, record in evidence.jobs():
        if "replays" in record:
            continue  # an operator cancelled it before its time and then let it run at once
        due = int(record.get("scheduled_at", "0"))
        starts = [int(entry["s"]) for entry in evidence.history.get(job_id, [])]
        for start in [*starts, *([int(record["started_at"])] if record.get("started_at") else [])]:
            if start < due:
                yield f"I7 {job_id} started {due - start} ms before its time"


def _unfinished(queue: str, seen: Snapshot) -> Iterator[str]:
    for state, members in seen.sets.items():
        if state not in TERMINAL and members:
            yield f"I6 {queue}: {len(members)} jobs are still {state}"


def _early_recoveries(evidence: Evidence, lease_ms: int) -> Iterator[str]:
    for job_id, history in evidence.history.items():
        for entry in history:
            if entry["o"] == "lost" and entry["e"] - entry["s"] < lease_ms:
                yield f"I8 {evidence.queue}: {job_id} was taken back {entry['e'] - entry['s']} ms after its claim"
