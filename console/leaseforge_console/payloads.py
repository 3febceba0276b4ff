"""Payloads and results as text one can safely look at: pretty, cut, with secret-looking values masked.

The bytes come from producers, so nothing about them is trusted: not their type, size, depth, or that they are text.
Numbers are shown digit for digit as they were sent.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

MASK = "••••••"
MAX_LINES = 400
MAX_CHARS = 24_000
MAX_DEPTH = 24
_MAX_STRING = 2_000
_INLINE = 72
_SECRET = re.compile(
    r"pass(word|wd|phrase|code)?$|secret|token|api[_-]?key|access[_-]?key|private|credential|authori[sz]ation|^auth$"
    r"|cookie|session|signature|bearer|^otp$|^pin$|^cvv|^cvc|ssn$|iban|card[_-]?(number|no)$",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    r"""(?ix)(\b[\w.-]*(?:password|passwd|secret|token|api[_-]?key|authorization)["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s&,;]+)"""
)
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
"""Controls, and characters that hide or reorder others: shown as escapes, so that what is read is what was sent."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Text for a page. `note` says what is missing from it, if anything."""

    text: str
    size: int
    masked: int
    note: str | None


class _Number(str):
    """A JSON number exactly as it was written."""

    __slots__ = ()


class _Members(tuple[tuple[str, object], ...]):
    """The members of a JSON object in order, repeated keys kept."""

    __slots__ = ()


class _Full(Exception):
    """The text is as long as it may get."""


def show(content: bytes, content_type: str) -> Shown:
    """Pretty-prints JSON, shows other text as it is, and the head of anything else in hex."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        try:
            value = json.loads(
                content, parse_float=_Number, parse_int=_Number, parse_constant=_Number, object_pairs_hook=_Members
            )
        except (ValueError, RecursionError):
            return _show_text(content, "not valid JSON, or nested too deep: shown as it is")
        printer = _Printer()
        complete = printer.print(value)
        note = None if complete else "cut: this is the beginning"
        return Shown("\n".join(printer.lines), len(content), printer.masked, note)
    return _show_text(content, None)


def _show_text(content: bytes, note: str | None) -> Shown:
    head = content[: MAX_CHARS * 4]
    try:
        text = head.decode() if len(head) == len(content) else head.decode(errors="ignore")
    except UnicodeDecodeError:
        return _show_bytes(content)
    if "\x00" in text:
        return _show_bytes(content)
    text, masked = _SECRET_TEXT.subn(lambda found: found[1] + MASK, text)
    lines = text.splitlines() or [""]
    cut = "\n".join(lines[:MAX_LINES])[:MAX_CHARS]
    if len(lines) > MAX_LINES or len(text) > MAX_CHARS or len(head) < len(content):
        note = f"{note}; cut: this is the beginning" if note else "cut: this is the beginning"
    return Shown(visible(cut), len(content), masked, note)


def _show_bytes(content: bytes) -> Shown:
    rows = []
    for start in range(0, min(len(content), 256), 16):
        row = content[start : start + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{start:04x}  {row.hex(' '):<47}  {text}")
    note = "binary: the first 256 bytes in hex" if len(content) > 256 else "binary, in hex"
    return Shown("\n".join(rows), len(content), 0, note)


def visible(text: str) -> str:
    """Replaces characters that cannot be seen, or that change the order of others, by their escapes."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _Printer:
    """Writes a decoded JSON value line by line until it is complete or the text is full."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.masked = 0
        self._chars = 0

    def print(self, value: object) -> bool:
        """Whether all of the value fitted."""
        try:
            self._write(value, "", "", 0)
        except _Full:
            self._cut()
            return False
        return True

    def _line(self, text: str) -> None:
        if len(self.lines) >= MAX_LINES or self._chars + len(text) > MAX_CHARS:
            raise _Full
        self.lines.append(text)
        self._chars += len(text) + 1

    def _cut(self) -> None:
        self.lines.append("…")

    def _write(self, value: object, lead: str, end: str, depth: int) -> None:
        pad = "  " * depth
        if not isinstance(value, _Members | list) or not value:
            self._line(f"{pad}{lead}{self._scalar(value)}{end}")
            return
        opening, closing = "{}" if isinstance(value, _Members) else "[]"
        inline = self._inline(value, opening, closing) if depth else None
        if inline is not None and len(pad) + len(lead) + len(inline) <= _INLINE:
            self._line(f"{pad}{lead}{inline}{end}")
        elif depth >= MAX_DEPTH:
            self._line(f"{pad}{lead}{opening}…{closing}{end}")
        else:
            self._line(f"{pad}{lead}{opening}")
            last = len(value) - 1
            for index, (key, inner) in enumerate(_entries(value)):
                name = "" if key is None else f"{self._scalar(key)}: "
                self._write(self._mask(key, inner), name, "," if index < last else "", depth + 1)
            self._line(f"{pad}{closing}{end}")

    def _inline(self, value: "_Members | list[object]", opening: str, closing: str) -> str | None:
        """A short flat object or array on one line, None if it is neither or holds something to mask."""
        if len(value) > 6:
            return None
        parts = []
        for key, inner in _entries(value):
            if (isinstance(inner, _Members | list) and inner) or (key is not None and _SECRET.search(key)):
                return None
            parts.append(self._scalar(inner) if key is None else f"{self._scalar(key)}: {self._scalar(inner)}")
        return f"{opening}{', '.join(parts)}{closing}"

    def _mask(self, key: str | None, value: object) -> object:
        if key is None or not _SECRET.search(key) or value is None or isinstance(value, bool) or value == "":
            return value
        self.masked += 1
        return MASK

    def _scalar(self, value: object) -> str:
        match value:
            case _Number():
                return str(value)[:_MAX_STRING]
            case str():
                if len(value) > _MAX_STRING:
                    kept = json.dumps(value[:_MAX_STRING], ensure_ascii=False)[:-1]
                    return visible(f'{kept}…" ({len(value):,} characters)')
                return visible(json.dumps(value, ensure_ascii=False))
            case _Members():
                return "{}"
            case list():
                return "[]"
            case _:
                return json.dumps(value)


def _entries(value: "_Members | list[object]") -> Iterator[tuple[str | None, object]]:
    """Name and value of each member; an array's have no name."""
    if isinstance(value, _Members):
        yield from value
    else:
        for inner in value:
            yield None, inner
