"""Texts: cut to a number of bytes, and searched for what a reader would not see in them."""

import re
import unicodedata

UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""For a class of characters: controls but tab and line feed, what turns a line around or breaks it, and what has no
shape (Unicode's default ignorable code points without the selectors of emoji, the blank Braille pattern, what arranges
hieroglyphs)."""

_SUSPECT = re.compile(f"[\t\n\ufe00-\ufe0f{UNSEEN}]")
_SKINS = range(0x1F3FB, 0x1F400)
_VIRAMA = 9
_PICTURES_FROM = 0x1F000
_ALSO_DRAWN = frozenset("\u203c\u2049\u2139\u2194\u25fb\u25fc\u25fd\u25fe\u2934\u2935\u3030\u303d")
"""Emoji that Unicode does not count among the symbols."""


def cut(text: str, most: int, *, keep_end: bool = False) -> str:
    """At most `most` bytes of UTF-8 of `text`, never half a character: its beginning, or its end."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return raw.decode()
    mark = "…".encode() if most >= 3 else b""
    room = most - len(mark)
    kept = mark + raw[len(raw) - room :] if keep_end else raw[:room] + mark
    return kept.decode("utf-8", "ignore")


def unseen(name: str) -> str | None:
    """The first character of a name that nobody sees, or that turns others around; None where all are seen.

    What joins or parts letters, and what emoji are made of, counts as seen where writing needs it, and nowhere else.
    """
    if name.isascii() and name.isprintable():
        return None
    for found in _SUSPECT.finditer(name):
        at = found.start()
        if not _is_needed(found[0], before=name[at - 1 : at] or " ", after=name[at + 1 : at + 2] or " "):
            return found[0]
    return None


def _is_needed(sign: str, *, before: str, after: str) -> bool:
    match sign:
        case "\u200c":  # parts two letters that would join
            are_arabic = unicodedata.bidirectional(before) == unicodedata.bidirectional(after) == "AL"
            return are_arabic or unicodedata.combining(before) == _VIRAMA
        case "\u200d":  # joins two letters, or two emoji into one
            are_pictures = before == "\ufe0f" or max(ord(before), ord(after)) >= _PICTURES_FROM
            is_emoji = _is_symbol(before) or before == "\ufe0f" or ord(before) in _SKINS
            return (are_pictures and is_emoji and _is_symbol(after)) or unicodedata.combining(before) == _VIRAMA
        case "\ufe0f":  # has a symbol drawn in colour, or a digit as a key
            return _is_symbol(before) or before in _ALSO_DRAWN or after == "\u20e3"
    return False


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character) == "So"
