"""What keys of a queue say of each other beyond the sets: unique keys, dead groups, statistics."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.audit import TERMINAL, Snapshot, audit


def audit_all(client: Any, queue: str, *, foreign: int = 0) -> Snapshot:
    """The audit of a quiet queue, and that every reference between its keys holds both ways."""
    seen = audit(client, queue, foreign=foreign)
    broken = reference_problems(client, queue, seen)
    assert not broken, f"queue {queue}:\n" + "\n".join(broken)
    return seen


def reference_problems(client: Any, queue: str, seen: Snapshot) -> list[str]:
    """The references between keys of a quiet queue that do not hold."""
    found = _Found(client, f"lf:{{{queue}}}:")
    return [*_unique_problems(found, seen), *_group_problems(found, seen), *_statistics_problems(found, seen)]


class _Found:
    """Unique keys with their holders, dead groups with their members, totals out of the buckets: two round trips."""

    def __init__(self, client: Any, prefix: str) -> None:
        names = [
            key.decode(errors="replace").removeprefix(prefix) for key in client.scan_iter(f"{prefix}*", count=1000)
        ]
        self.holders = {name[7:]: "" for name in names if name.startswith("unique:")}
        self.members: dict[str, set[str]] = {name[11:]: set() for name in names if name.startswith("dead:group:")}
        buckets = [name for name in names if name.startswith("stats:10:")]
        pipeline = client.pipeline(transaction=False)
        pipeline.hkeys(f"{prefix}dead:groups")
        for name in self.holders:
            pipeline.get(f"{prefix}unique:{name}")
        for name in self.members:
            pipeline.zrange(f"{prefix}dead:group:{name}", 0, -1)
        for name in buckets:
            pipeline.hgetall(prefix + name)
        titles, *rest = pipeline.execute()
        self.titles = {title.decode() for title in titles}
        for name in self.holders:
            self.holders[name] = rest.pop(0).decode()
        for name in self.members:
            self.members[name] = {member.decode() for member in rest.pop(0)}
        self.sums: dict[str, int] = {}
        for bucket in rest:
            for field, value in bucket.items():
                if b":" not in field:
                    self.sums[field.decode()] = self.sums.get(field.decode(), 0) + int(value)


def _unique_problems(found: _Found, seen: Snapshot) -> Iterator[str]:
    """A live job holds its unique key, and nothing else holds one."""
    for unique_key, holder in found.holders.items():
        record = seen.records.get(holder, {})
        if record.get("unique_key") != unique_key or record.get("state") in TERMINAL:
            yield f"unique key {unique_key} is held by {holder}, which is {record.get('state', 'gone')}"
    for job_id, record in seen.records.items():
        unique_key = record.get("unique_key")
        if unique_key and record.get("state") not in TERMINAL and found.holders.get(unique_key) != job_id:
            yield f"{job_id} is {record.get('state')} and does not hold its unique key {unique_key}"


def _group_problems(found: _Found, seen: Snapshot) -> Iterator[str]:
    """Dead jobs stand in the group their record names, only they, and no group is empty or without a title."""
    if found.titles != found.members.keys():
        yield f"groups with a title: {sorted(found.titles)}, with members: {sorted(found.members)}"
    dead: dict[str, set[str]] = {}
    for job_id, record in seen.records.items():
        if record.get("state") == "dead":
            dead.setdefault(record.get("fp", ""), set()).add(job_id)
        elif "fp" in record:
            yield f"{job_id} is {record.get('state')} and names the dead group {record['fp']}"
    if dead != found.members:
        yield f"dead jobs by group: {_sizes(dead)}, members of groups: {_sizes(found.members)}"


def _statistics_problems(found: _Found, seen: Snapshot) -> Iterator[str]:
    """The 10 s buckets add up to the totals, as long as none of them has gone."""
    if found.sums != dict(seen.counts):
        yield f"totals {dict(seen.counts)}, sums of the 10 s buckets {found.sums}"


def _sizes(groups: Mapping[str, set[str]]) -> dict[str, int]:
    return {name: len(ids) for name, ids in sorted(groups.items())}
