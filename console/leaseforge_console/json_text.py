"""JSON as text: where it is wrong, how it reads line by line, and which of its values are secret.

Nothing is turned into numbers and back, so digits stay as they were written. The work is linear in the text's length,
however deep it is nested. All but `fault_in` take text in which that found no fault.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from leaseforge.json_depth import MAX_DEPTH, is_too_deep
from leaseforge_console.payloads import MASK, is_hidden, visible

NEW_MASK = f'"{MASK} new"'
"""Stands where a masked value was typed anew, in what is shown of a change."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_BYTE = re.compile(r"^(?:JSON is malformed: )?(?P<why>.*?) \(byte (?P<byte>\d+)\)$")
_MARKER = re.compile(rf'"{MASK} (\d{{1,6}})"')
_HALVES = (r"u[dD][89abAB][0-9a-fA-F]{2}", r"u[dD][c-fC-F][0-9a-fA-F]{2}")
_ESCAPE = re.compile(rf"\\(?:{_HALVES[0]}\\{_HALVES[1]}|(?P<half>{_HALVES[0]}|{_HALVES[1]})|.)", re.DOTALL)
_HALF = "is half of a character, and its other half is missing"
_AROUND = 40
_PLAINLY = {"expected '\"'": "a name in double quotes is expected"}
_ESCAPED_MASK = "".join(f"\\u{ord(character):04x}" for character in MASK)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text cannot be taken, and where: line and column count from 1, 0 for no certain place.

    `excerpt` points at the place.
    """

    why: str
    line: int = 0
    column: int = 0
    excerpt: str = ""

    def __str__(self) -> str:
        if not self.line:
            return f"{self.why.removesuffix('.')}."
        return f"{self.why}: line {self.line:,}, column {self.column:,}."


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of well-formed JSON. `name` is that of the member a value belongs to, '' in arrays and at the top."""

    kind: Literal["open", "close", "name", "value", "mark"]
    text: str
    start: int
    end: int
    name: str = ""


def fault_in(text: str) -> Fault | None:
    """What is wrong with the text as JSON, or None."""
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        return fault_at(text, error.start, f"\\u{ord(text[error.start]):04x} {_HALF}")
    too_deep = f"Nested deeper than {MAX_DEPTH} levels"
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except RecursionError:
        return fault_at(text, 0, too_deep)
    except msgspec.DecodeError as error:
        found = _BYTE.match(str(error))
        place = len(content[: int(found["byte"])].decode(errors="ignore")) if found else len(text.rstrip())
        # The decoder has other words for half a character, as cutting a text within an emoji leaves it.
        if half := next((escape for escape in _ESCAPE.finditer(text, 0, place) if escape["half"]), None):
            return fault_at(text, half.start(), f"{half[0]} {_HALF}")
        if found is None:
            return fault_at(text, place, "The JSON ends too early" if text.strip() else "Nothing was typed")
        why = _PLAINLY.get(found["why"], found["why"])
        return fault_at(text, place, f"{why[:1].upper()}{why[1:]}")
    return fault_at(text, 0, too_deep) if is_too_deep(content) else None


def fault_at(text: str, place: int, why: str) -> Fault:
    """A fault at a place of the text, with the line it is in."""
    begin = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[begin : end if end >= 0 else len(text)]
    column = place - begin
    start = max(column - _AROUND, 0)
    # Both lines are escaped alike, or the arrow would point elsewhere.
    before, after = visible(line[start:column]), visible(line[column : column + _AROUND])
    lead = "…" if start else ""
    excerpt = f"{lead}{before}{after}\n{' ' * len(lead + before)}^"
    return Fault(why, text.count("\n", 0, place) + 1, column + 1, excerpt)


def tokens(text: str) -> Iterator[Token]:
    """The pieces of the text in order; `mark` are commas and colons."""
    in_object: list[bool] = []
    name = ""
    wants_name = False
    for found in _TOKEN.finditer(text):
        word, start, end = found[0], found.start(), found.end()
        if word in ("{", "["):
            yield Token("open", word, start, end, name)
            in_object.append(word == "{")
            name, wants_name = "", word == "{"
        elif word in ("}", "]"):
            in_object.pop()
            yield Token("close", word, start, end)
            wants_name = False
        elif word in (",", ":"):
            yield Token("mark", word, start, end)
            wants_name = word == "," and in_object[-1]
            name = name if word == ":" else ""
        elif wants_name:
            name = msgspec.json.decode(word, type=str)
            yield Token("name", word, start, end, name)
        else:
            yield Token("value", word, start, end, name)


def compact(text: str) -> str:
    """The same JSON without the space between its pieces."""
    return "".join(token.text for token in tokens(text))


def pretty(text: str) -> str:
    """One member a line, with what cannot be seen as escapes: the same value, written so that one can read it."""
    parts: list[str] = []
    depth = 0
    before: Token | None = None
    for token in tokens(text):
        if token.kind == "close":
            depth -= 1
            if before is not None and before.kind != "open":
                parts.append("\n" + "  " * depth)
        elif before is not None and (before.kind == "open" or before.text == ","):
            parts.append("\n" + "  " * depth)
        parts.append(": " if token.text == ":" else visible(token.text))
        depth += token.kind == "open"
        before = token
    return "".join(parts)


def without_secrets(text: str, mask: Callable[[int, str], str]) -> str:
    """The text with each secret value, the outermost, replaced by `mask(number from 1, value as written)`."""
    parts: list[str] = []
    place = 0
    for number, (start, end) in enumerate(_secrets(text), 1):
        parts += (text[place:start], mask(number, text[start:end]))
        place = end
    return "".join((*parts, text[place:]))


def with_markers(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with a numbered marker in the place of each secret value, and those values by number."""
    values: list[str] = []

    def mark(number: int, value: str) -> str:
        values.append(value)
        return f'"{MASK} {number}"'

    # A text of the payload's own must never be taken for a marker.
    return without_secrets(text.replace(MASK, _ESCAPED_MASK), mark), tuple(values)


def without_new_secrets(text: str) -> str:
    """An edited text as a change is shown: markers stay, other secret values are new ones and not shown."""
    return without_secrets(text, lambda _, value: value if _MARKER.fullmatch(value) else NEW_MASK)


def restored(text: str, values: tuple[str, ...]) -> tuple[str, Fault | None]:
    """An edited text with the values in the place of their markers; or what is wrong with a marker.

    A value may only stand where it is masked again: under another name it would be there for all to read.
    """
    parts: list[str] = []
    place = 0
    hidden: list[bool] = []
    for token in tokens(text):
        if token.kind == "open":
            hidden.append(bool(hidden and hidden[-1]) or is_hidden(token.name, token.text))
        elif token.kind == "close":
            hidden.pop()
        elif token.kind == "value" and MASK in token.text:
            found = _MARKER.fullmatch(token.text)
            number = int(found[1]) if found else 0
            if not 1 <= number <= len(values):
                return "", fault_at(text, token.start, "This stands for no masked value: type the value you mean")
            value = values[number - 1]
            if not (hidden and hidden[-1]) and not is_hidden(token.name, value[:2]):
                return "", fault_at(text, token.start, "A masked value cannot move to where it would not be masked")
            parts += (text[place : token.start], value)
            place = token.end
    return "".join((*parts, text[place:])), None


def _secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where the outermost secret values begin and end."""
    depth = 0
    begin = -1
    for token in tokens(text):
        if token.kind == "open":
            if depth or is_hidden(token.name, token.text):
                begin = begin if depth else token.start
                depth += 1
        elif token.kind == "close":
            if depth:
                depth -= 1
                if not depth:
                    yield begin, token.end
        elif token.kind == "value" and not depth and is_hidden(token.name, token.text[:2]):
            yield token.start, token.end
