"""How deep JSON from outside may be nested: no tool that shows a deeper payload would cope."""

import re

from leaseforge.errors import BadInput, FieldProblem

MAX_DEPTH = 64

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def check_depth(raw: bytes, field: str) -> None:
    """Refuse (BadInput) well-formed JSON nested deeper than 64 levels."""
    if is_too_deep(raw):
        raise BadInput([FieldProblem(field, f"the JSON is nested deeper than {MAX_DEPTH} levels")])


def is_too_deep(raw: bytes) -> bool:
    """Whether well-formed JSON is nested deeper than 64 levels."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", raw).translate(None, _NOT_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return False
    return True
