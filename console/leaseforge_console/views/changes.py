"""What changes between two texts, line by line, with a little of what stays around it."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

CONTEXT = 3
MAX_ROWS = 600
MAX_COMPARED = 4_000
"""Lines that are compared with one another; where more of them differ, one part stands for the other as a whole."""
_MAX_LINE = 2_000

Tone = Literal["old", "new", "same", "gap"]
_SIGNS: dict[Tone, str] = {"old": "\N{MINUS SIGN}", "new": "+", "same": " ", "gap": ""}
_WORDS: dict[Tone, str] = {"old": "removed: ", "new": "added: ", "same": "", "gap": ""}


@dataclass(frozen=True, slots=True)
class Row:
    """One line. A `gap` tells how many lines that stay are left out."""

    tone: Tone
    text: str

    @property
    def sign(self) -> str:
        """Says the same as the colour."""
        return _SIGNS[self.tone]

    @property
    def word(self) -> str:
        """Says the same to those who hear the page."""
        return _WORDS[self.tone]


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes, in rows up to a bound; `left_out` says how many rows there are besides."""

    rows: tuple[Row, ...]
    added: int
    removed: int
    left_out: int


def changes(old: str, new: str) -> Changes:
    """Compares two texts."""
    before, after = old.split("\n"), new.split("\n")
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    stays, ends = len(before) - tail, len(after) - tail
    rows = _context(before[:head], before[head:stays], after[head:ends], before[stays:])
    added, removed = (sum(row.tone == tone for row in rows) for tone in ("new", "old"))
    return Changes(tuple(rows[:MAX_ROWS]), added, removed, max(len(rows) - MAX_ROWS, 0))


def _alike(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    return next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


def _context(head: list[str], old: list[str], new: list[str], tail: list[str]) -> list[Row]:
    if not old and not new:
        return []
    rows = _gap(len(head) - CONTEXT) + _rows("same", head[-CONTEXT:])
    if len(old) + len(new) > MAX_COMPARED:
        rows += _rows("old", old) + _rows("new", new)
    else:
        for kind, from_old, to_old, from_new, to_new in SequenceMatcher(None, old, new).get_opcodes():
            if kind == "equal":
                rows += _between(old[from_old:to_old])
            else:
                rows += _rows("old", old[from_old:to_old]) + _rows("new", new[from_new:to_new])
    return rows + _rows("same", tail[:CONTEXT]) + _gap(len(tail) - CONTEXT)


def _between(lines: list[str]) -> list[Row]:
    """Lines that stay between two changes."""
    if len(lines) <= 2 * CONTEXT + 1:
        return _rows("same", lines)
    return _rows("same", lines[:CONTEXT]) + _gap(len(lines) - 2 * CONTEXT) + _rows("same", lines[-CONTEXT:])


def _rows(tone: Tone, lines: list[str]) -> list[Row]:
    return [Row(tone, line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…") for line in lines]


def _gap(count: int) -> list[Row]:
    return [Row("gap", f"{count:,} more {'line' if count == 1 else 'lines'} as before")] if count > 0 else []
