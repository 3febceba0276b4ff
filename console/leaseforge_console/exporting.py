"""Jobs as the lines of a file: CSV by RFC 4180, or one JSON object a line.

A spreadsheet runs what begins with `=`, `+`, `-` or `@`, and texts of jobs come from anywhere: in CSV such a text gets
an apostrophe in front. In many countries spreadsheets take `;` for the end of a cell, whatever is quoted, so one stands
behind `;` and line ends as well. Payloads and results are masked as everywhere.
"""

import csv
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from leaseforge.exporting import stretches
from leaseforge.filters import Filter
from leaseforge.jobs import Job
from leaseforge.store import Store
from leaseforge_auth.masking import Shown, shown
from leaseforge_console.exports import SessionOver, while_standing
from leaseforge_console.filters import machine

MOST = 100_000
MOST_WHOLE = 10_000
"""Jobs one file holds at most; with payloads fewer."""

_SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = tuple(f"{_SIGNS}\t\r")
_NEW_CELL = re.compile(rf"([;\t\r\n][ \"]*)(?=[{re.escape(_SIGNS)}])")
Value = str | int | list[str] | bool | msgspec.Raw | None


class Format(StrEnum):
    """The form of the file, as its name ends."""

    CSV = "csv"
    JSONL = "jsonl"


MEDIA_TYPES: Mapping[Format, str] = {
    Format.CSV: "text/csv",
    Format.JSONL: "application/x-ndjson",
}

COLUMNS: Mapping[str, Callable[[Job], Value]] = {
    "id": lambda job: job.id,
    "queue": lambda job: job.queue,
    "type": lambda job: job.type,
    "state": lambda job: job.state.value,
    "priority": lambda job: job.priority,
    "attempts": lambda job: job.attempts,
    "failures": lambda job: job.failures,
    "recoveries": lambda job: job.recoveries,
    "replays": lambda job: job.replays,
    "created_at": lambda job: _instant(job.created_at),
    "scheduled_at": lambda job: _instant(job.scheduled_at),
    "due_at": lambda job: _instant(job.due_at),
    "started_at": lambda job: _instant(job.started_at),
    "finished_at": lambda job: _instant(job.finished_at),
    "worker": lambda job: job.worker,
    "created_by": lambda job: job.created_by,
    "tags": lambda job: list(job.tags),
    "reason": lambda job: job.reason,
    "error_kind": lambda job: job.error.kind if job.error else None,
    "error_message": lambda job: job.error.message if job.error else None,
}
CONTENTS = ("content_type", "payload", "payload_base64", "payload_masked", "result", "result_base64", "result_masked")


async def lines(
    store: Store, wanted: Filter, *, form: Format, whole: bool, has_ended: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """The file, in pieces. Its last line says if it lacks jobs: for their number, or as the session it is for ended."""
    write = _csv_line if form is Format.CSV else _json_line
    most = MOST_WHOLE if whole else MOST
    names = [*COLUMNS, *(CONTENTS if whole else ())]
    if form is Format.CSV:
        yield _csv_line(dict.fromkeys(names) | {name: name for name in names})
    written = 0
    try:
        async for jobs in while_standing(stretches(store, wanted, whole=whole, most=most), has_ended):
            fitting = jobs[: most - written]
            written += len(fitting)
            if not whole:
                yield b"".join([write(_values(job)) for job in fitting])
            else:
                for job in fitting:
                    yield write(_values(job) | _contents(job))
            if len(fitting) < len(jobs):
                yield _cut(names, most, form, "there are more")
                return
    except SessionOver:
        yield _cut(names, written, form, "the session it was asked for in has ended")


def _values(job: Job) -> dict[str, Value]:
    return {name: read(job) for name, read in COLUMNS.items()}


def _contents(job: Job) -> dict[str, Value]:
    payload, result = shown(job.payload, job.content_type), shown(job.result)
    return {"content_type": job.content_type, **_content("payload", payload), **_content("result", result)}


def _content(name: str, content: Shown) -> dict[str, Value]:
    return {
        # One line, whatever its producer laid it out like.
        name: None if content.json is None else msgspec.Raw(msgspec.json.format(content.json, indent=-1)),
        f"{name}_base64": content.base64,
        f"{name}_masked": content.is_masked,
    }


def _cut(names: list[str], written: int, form: Format, why: str) -> bytes:
    told = f"CUT: only the first {written:,} jobs are in this file; {why}"
    if form is Format.CSV:
        return _csv_line(dict.fromkeys(names) | {names[0]: told})
    return msgspec.json.encode({"cut": {"jobs": written, "message": told}}) + b"\n"


def _json_line(values: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(values) + b"\n"


def _csv_line(values: Mapping[str, Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow([_cell(value) for value in values.values()])
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Value) -> str | int:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return value
        case msgspec.Raw():
            return _harmless(bytes(value).decode())
        case list():
            return _harmless(", ".join(value))
        case _:
            return _harmless(value)


def _harmless(text: str) -> str:
    """The text so that a spreadsheet takes it for text, wherever it sees a cell begin."""
    text = _NEW_CELL.sub(r"\1'", text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else machine(moment)
