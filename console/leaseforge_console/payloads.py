"""Payloads and results as text one can safely look at: pretty, cut, with secret-looking values masked.

The bytes come from producers, so nothing about them is trusted: not their type, size, depth, or that they are text.
Numbers are shown digit for digit as they were sent. Only what is shown is taken apart, so a payload of a megabyte
costs little more than a small one.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from leaseforge.texts import UNSEEN
from leaseforge_auth.masking import is_json, is_secret

MASK = "••••••"
MAX_LINES = 400
MAX_CHARS = 24_000
MAX_DEPTH = 24
_MAX_STRING = 2_000
_MAX_SCALAR = 200
_INLINE = 72
_MOST_INLINE = 6
_CUT = "cut: this is the beginning"
_SECRET_TEXT = re.compile(
    r"""(?i)((?:password|passwd|secret|token|api[_-]?key|authorization)["']?\s{0,4}[:=]\s{0,4})"""
    r"""("[^"]*"?|'[^']*'?|[^\s&,;]+)"""
)
_UNSAFE = re.compile(f"[{UNSEEN}]")
"""Controls, and characters that hide or reorder others: shown as escapes, so that what is read is what was sent."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Text for a page. `note` says what is missing from it, if anything."""

    text: str
    size: int
    masked: int
    note: str | None


class _Full(Exception):
    """The text is as long as it may get."""


# A live page shows the same job every two seconds.
@lru_cache(maxsize=16)
def show(content: bytes, content_type: str) -> Shown:
    """Pretty-prints JSON, shows other text as it is, and the head of anything else in hex."""
    return _shown(content, content_type, reveal=False)


def reveal(content: bytes, content_type: str) -> Shown:
    """The same with nothing masked: for those who may see everything, and whose looking is audited. Kept nowhere."""
    return _shown(content, content_type, reveal=True)


def _shown(content: bytes, content_type: str, *, reveal: bool) -> Shown:
    if is_json(content_type):
        printer = _Printer(reveal=reveal)
        try:
            complete = printer.print(msgspec.json.decode(content, type=msgspec.Raw))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _show_text(content, "not valid JSON, or nested too deep: shown as it is", reveal=reveal)
        return Shown("\n".join(printer.lines), len(content), printer.masked, None if complete else _CUT)
    return _show_text(content, None, reveal=reveal)


def visible(text: str) -> str:
    """Replaces characters that cannot be seen, or that change the order of others, by their escapes."""
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    """As JSON has it, where one character beyond the first 65,536 is two."""
    return json.dumps(found[0])[1:-1] if found[0] > "\uffff" else f"\\u{ord(found[0]):04x}"


def masked_words(text: str) -> tuple[str, int]:
    """A text that is no JSON with what looks secret masked, and how many times it was."""
    return _SECRET_TEXT.subn(lambda found: found[1] + MASK, text)


def _show_text(content: bytes, note: str | None, *, reveal: bool) -> Shown:
    head = content[: MAX_CHARS * 4]
    try:
        text = head.decode() if len(head) == len(content) else head.decode(errors="ignore")
    except UnicodeDecodeError:
        return _show_bytes(content)
    if "\x00" in text:
        return _show_bytes(content)
    text, masked = (text, 0) if reveal else masked_words(text)
    lines = text.splitlines() or [""]
    cut = "\n".join(lines[:MAX_LINES])[:MAX_CHARS]
    if len(lines) > MAX_LINES or len(text) > MAX_CHARS or len(head) < len(content):
        note = f"{note}; {_CUT}" if note else _CUT
    return Shown(visible(cut), len(content), masked, note)


def _show_bytes(content: bytes) -> Shown:
    rows = []
    for start in range(0, min(len(content), 256), 16):
        row = content[start : start + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{start:04x}  {row.hex(' '):<47}  {text}")
    note = "binary: the first 256 bytes in hex" if len(content) > 256 else "binary, in hex"
    return Shown("\n".join(rows), len(content), 0, note)


class _Printer:
    """Writes a JSON value line by line until it is complete or the text is full."""

    def __init__(self, *, reveal: bool) -> None:
        self._reveal = reveal
        self.lines: list[str] = []
        self.masked = 0
        self._chars = 0

    def print(self, value: msgspec.Raw) -> bool:
        """Whether all of the value, which is known to be JSON, fitted."""
        try:
            self._write(value, "", "", 0)
        except _Full:
            self.lines.append("…")
            return False
        return True

    def _line(self, text: str) -> None:
        if len(self.lines) >= MAX_LINES or self._chars + len(text) > MAX_CHARS:
            raise _Full
        self.lines.append(text)
        self._chars += len(text) + 1

    def _write(self, value: msgspec.Raw, lead: str, end: str, depth: int) -> None:
        pad = "  " * depth
        members = _members(value)
        if not members:
            self._line(f"{pad}{lead}{_scalar(value)}{end}")
            return
        opening, closing = ("{", "}") if _is(value, b"{") else ("[", "]")
        inline = _inline(members, opening, closing, self._hides) if depth else None
        if inline is not None and len(pad) + len(lead) + len(inline) <= _INLINE:
            self._line(f"{pad}{lead}{inline}{end}")
        elif depth >= MAX_DEPTH:
            self._line(f"{pad}{lead}{opening}…{closing}{end}")
        else:
            self._line(f"{pad}{lead}{opening}")
            last = len(members) - 1
            for index, (key, inner) in enumerate(_named(members)):
                name, comma = "" if key is None else f"{_text(key)}: ", "," if index < last else ""
                if key is not None and self._hides(key, inner):
                    self.masked += 1
                    self._line(f'{pad}  {name}"{MASK}"{comma}')
                else:
                    self._write(inner, name, comma, depth + 1)
            self._line(f"{pad}{closing}{end}")

    def _hides(self, key: str, value: msgspec.Raw) -> bool:
        return not self._reveal and is_hidden(key, bytes(memoryview(value)[:2]).decode(errors="replace"))


def is_hidden(name: str, head: str) -> bool:
    """Whether a value under this name is masked; `head` are the first two characters of it, which tell its kind."""
    if head[:1] in "{[":
        return is_secret(name, [head])
    if head[:1] == '"':
        return is_secret(name, "" if head == '""' else "text")
    return is_secret(name, {"t": True, "f": False, "n": None}.get(head[:1], 0))


_Members = dict[str, msgspec.Raw] | list[msgspec.Raw]


def _is(value: msgspec.Raw, start: bytes) -> bool:
    return bytes(memoryview(value)[:1]) == start


def _members(value: msgspec.Raw) -> _Members | None:
    """What an object or array holds, itself not taken apart; None for a scalar."""
    if _is(value, b"{"):
        return msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    if _is(value, b"["):
        return msgspec.json.decode(value, type=list[msgspec.Raw])
    return None


def _named(members: _Members) -> Iterator[tuple[str | None, msgspec.Raw]]:
    """Name and value of each member; an array's have no name."""
    if isinstance(members, dict):
        yield from members.items()
    else:
        for inner in members:
            yield None, inner


def _inline(members: _Members, opening: str, closing: str, hides: Callable[[str, msgspec.Raw], bool]) -> str | None:
    """A short flat object or array on one line, None if it is neither or holds something to mask."""
    if len(members) > _MOST_INLINE:
        return None
    parts = []
    for key, inner in _named(members):
        if len(memoryview(inner)) > _INLINE or _members(inner) or (key is not None and hides(key, inner)):
            return None
        parts.append(_scalar(inner) if key is None else f"{_text(key)}: {_scalar(inner)}")
    return f"{opening}{', '.join(parts)}{closing}"


def _scalar(value: msgspec.Raw) -> str:
    """A string as JSON, an empty container, or a number or word exactly as it was written."""
    if _is(value, b'"'):
        return _text(msgspec.json.decode(value, type=str))
    text = bytes(memoryview(value)).decode()
    return text if len(text) <= _MAX_SCALAR else f"{text[:_MAX_SCALAR]}…"


def _text(text: str) -> str:
    if len(text) > _MAX_STRING:
        return visible(f'{json.dumps(text[:_MAX_STRING], ensure_ascii=False)[:-1]}…" ({len(text):,} characters)')
    return visible(json.dumps(text, ensure_ascii=False))
