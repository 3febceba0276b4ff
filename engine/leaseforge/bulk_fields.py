"""Bulk operations as their records in Redis keep them: written as fields, and read from them."""

from contextlib import suppress
from typing import TypeVar

import msgspec

from leaseforge.bulk_records import (
    BulkAction,
    BulkCounts,
    BulkFilter,
    BulkOperation,
    BulkOrder,
    BulkSample,
    BulkState,
)
from leaseforge.records import Fields, instant, whole

T = TypeVar("T")
_NUMBERS = ("total", "searched", "done", "changed", "gone", "well", "again")


def order_fields(order: BulkOrder) -> dict[str, str]:
    """An order as the record keeps it, beside who gave it."""
    return {
        "action": order.action,
        "filter": msgspec.json.encode(order.filter).decode(),
        "reason": order.reason,
        "about": order.about,
        **pace_fields(order),
    }


def pace_fields(order: BulkOrder) -> dict[str, str]:
    """How fast it goes and when it stops by itself, as the record keeps it."""
    limit = order.stop_at_failure_rate
    return {"rate": str(order.rate_per_second), "stop_at": "" if limit is None else f"{limit:.6f}"}


def count_fields(counts: BulkCounts) -> dict[str, str]:
    """Counts as the record keeps them."""
    numbers = {name: str(getattr(counts, name)) for name in _NUMBERS}
    return numbers | {"failed": msgspec.json.encode(counts.failed).decode()}


def found_fields(queues: list[str], sample: list[BulkSample], *, is_cut: bool) -> dict[str, str]:
    """What collecting found, as the record keeps it."""
    return {
        "queues": msgspec.json.encode(queues).decode(),
        "sample": msgspec.json.encode(sample).decode(),
        "is_cut": "1" if is_cut else "",
    }


def operation_from(operation_id: str, fields: Fields) -> BulkOperation | None:
    """An operation out of its record; None if what was asked for cannot be read."""
    try:
        order = BulkOrder(
            action=BulkAction(fields["action"]),
            filter=msgspec.json.decode(fields["filter"], type=BulkFilter),
            created_by=fields.get("created_by", ""),
            reason=fields.get("reason", ""),
            about=fields.get("about", ""),
            rate_per_second=whole(fields.get("rate")) or 1,
            stop_at_failure_rate=float(fields["stop_at"]) if fields.get("stop_at") else None,
        )
        state = BulkState(fields["state"])
    except (KeyError, ValueError, msgspec.MsgspecError):
        return None
    numbers = {name: whole(fields.get(name)) for name in _NUMBERS}
    return BulkOperation(
        id=operation_id,
        order=order,
        state=state,
        counts=BulkCounts(**numbers, failed=_decoded(fields.get("failed"), dict[str, int], {})),
        is_cut=fields.get("is_cut") == "1",
        sample=_decoded(fields.get("sample"), tuple[BulkSample, ...], ()),
        queues=_decoded(fields.get("queues"), tuple[str, ...], ()),
        run=whole(fields.get("run")),
        run_by=fields.get("run_by"),
        run_reason=fields.get("run_reason", ""),
        run_at=instant(fields.get("run_at")),
        run_from=whole(fields.get("run_from")),
        reported=whole(fields.get("reported")),
        error=fields.get("error", ""),
        created_at=instant(fields.get("created_at")),
        ready_at=instant(fields.get("ready_at")),
        started_at=instant(fields.get("started_at")),
        ended_at=instant(fields.get("ended_at")),
        ended_by=fields.get("ended_by"),
        as_of_ms=whole(fields.get("created_at")),
    )


def _decoded(text: str | None, kind: type[T], otherwise: T) -> T:
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(text, type=kind) if text else otherwise
    return otherwise
