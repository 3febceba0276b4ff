"""What foreign hands may do to a queue's keys, written past the product."""

from collections.abc import Callable, Mapping
from typing import Any

from leaseforge.keys import queue_key

STATES = ("ready", "running", "scheduled", "retrying", "completed", "cancelled", "dead")
FOREIGN_MEMBERS = (b"junk", b"", b"\xff\xfe\x00", b"0" * 16, b"x" * 300)
HUGE = str(10**40)

Damage = Callable[[Any, str], None]
"""Harms the job whose record's key it is given."""


def _record_missing(client: Any, record: str) -> None:
    client.delete(record)


def _record_of_wrong_type(client: Any, record: str) -> None:
    client.delete(record)
    client.rpush(record, "foreign")


def _record_truncated(client: Any, record: str) -> None:
    fields = client.hkeys(record)
    client.hdel(record, *[field for field in fields if field not in (b"state", b"seq")])


def _state_missing(client: Any, record: str) -> None:
    client.hdel(record, "state")


def _sequence_missing(client: Any, record: str) -> None:
    client.hdel(record, "seq")


def _payload_missing(client: Any, record: str) -> None:
    client.delete(f"{record}:in")


def _parts_of_wrong_type(client: Any, record: str) -> None:
    for part, write in ((":in", client.rpush), (":out", client.rpush), (":log", client.set), (":history", client.set)):
        client.delete(record + part)
        write(record + part, b"\xff")


def _no_text(client: Any, record: str) -> None:
    fields = ("type", "content_type", "options", "tags", "traceparent", "created_by", "error", "error_kind", "reason")
    client.hset(record, mapping=dict.fromkeys((*fields, "worker", "progress", "fp"), b"\xff\xfe"))


def _numbers(value: str) -> Damage:
    names = ("rev", "attempts", "failures", "recoveries", "replays", "releases", "priority", "size", "logged")
    times = ("created_at", "ready_at", "started_at", "finished_at", "scheduled_at")

    def write(client: Any, record: str) -> None:
        client.hset(record, mapping=dict.fromkeys((*names, *times), value))

    return write


DAMAGES: Mapping[str, Damage] = {
    "record missing": _record_missing,
    "record of wrong type": _record_of_wrong_type,
    "record truncated": _record_truncated,
    "state missing": _state_missing,
    "state unknown": lambda client, record: client.hset(record, "state", b"\xff"),
    "sequence missing": _sequence_missing,
    "sequence huge": lambda client, record: client.hset(record, "seq", HUGE),
    "token gone": lambda client, record: client.hset(record, "token", b"\xff"),
    "payload missing": _payload_missing,
    "parts of wrong type": _parts_of_wrong_type,
    "no text": _no_text,
    "numbers huge": _numbers(HUGE),
    "numbers negative": _numbers("-" + HUGE),
    "numbers no numbers": _numbers("nan"),
}


def plant_foreign_members(client: Any, queue: str) -> int:
    """Puts things that are no jobs of ours into every set, due at once; how many."""
    for state in STATES:
        client.zadd(queue_key(queue, state), dict.fromkeys(FOREIGN_MEMBERS, 1.0))
        client.zadd(queue_key(queue, state), {b"for ever": "+inf", b"since ever": "-inf"})
    return len(STATES) * (len(FOREIGN_MEMBERS) + 2)
