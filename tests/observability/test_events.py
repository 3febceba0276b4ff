"""docs/events.md says what is logged: every event, at which level, with which fields; and code logs nothing else."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leaseforge import events

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "events.md").read_text("utf-8")
LEVELS = {"debug": "debug", "info": "info", "warning": "warning", "error": "error", "exception": "error"}
EVENTS = {name: value for name, value in vars(events).items() if name.isupper()}
SOURCES = {
    path: path.read_text("utf-8")
    for path in sorted(ROOT.glob("*/leaseforge*/**/*.py"))
    if path != Path(events.__file__)
}


@dataclass(frozen=True, slots=True)
class Row:
    """What the document says of one event."""

    levels: frozenset[str]
    fields: frozenset[str]


@dataclass(frozen=True, slots=True)
class Line:
    """One place that writes a log line. `event` is the constant's name, or None where it is chosen at run time."""

    place: str
    event: str | None
    is_text: bool
    level: str
    fields: frozenset[str]


def rows() -> dict[str, Row]:
    found = {}
    for name, levels, fields in re.findall(r"^\| `(\w+)` \| ([a-z, ]+) \|([^|\n]*)\|", DOCUMENT, re.MULTILINE):
        assert name not in found, f"{name} has two rows"
        found[name] = Row(frozenset(levels.split(", ")), frozenset(re.findall(r"`(\w+)`", fields)))
    return found


def lines() -> Iterator[Line]:
    """Every call of a logger."""
    for path, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                continue
            level = LEVELS.get(node.func.attr)
            if level is None or not _is_logger(node.func.value):
                continue
            first = node.args[0]
            fields = frozenset("exception" if one.arg == "exc_info" else one.arg for one in node.keywords if one.arg)
            is_text = isinstance(first, ast.Constant | ast.JoinedStr)
            yield Line(f"{path.relative_to(ROOT)}:{node.lineno}", _constant(first), is_text, level, fields)


def _is_logger(value: ast.expr) -> bool:
    return (isinstance(value, ast.Name) and value.id == "log") or "get_logger" in ast.unparse(value)


def _constant(value: ast.expr) -> str | None:
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "events":
        return value.attr
    return value.id if isinstance(value, ast.Name) and value.id in EVENTS else None


def test_every_event_has_a_row_and_every_row_an_event() -> None:
    assert sorted(rows()) == sorted(EVENTS.values())


def test_a_name_is_its_constants_in_small_letters() -> None:
    assert {name: name.lower() for name in EVENTS} == EVENTS


def test_every_event_is_written_somewhere() -> None:
    words = {word for source in SOURCES.values() for word in re.findall(r"\b[A-Z][A-Z_]+\b", source)}

    assert set(EVENTS) - words == set()


def test_code_logs_events_only_as_the_document_says() -> None:
    found, listed = list(lines()), rows()
    assert len(found) > 80
    wrong = []
    for line in found:
        if line.is_text:
            wrong.append(f"{line.place} writes a text in place of an event of events.py")
        if line.event is None:
            continue
        row = listed[EVENTS[line.event]]
        if not row.levels & {line.level, "any"}:
            wrong.append(f"{line.place} writes {line.event} as {line.level}; documented: {', '.join(row.levels)}")
        wrong += [f"{line.place} writes {line.event} with `{one}`" for one in line.fields - row.fields]
    assert wrong == []
