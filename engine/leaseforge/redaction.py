"""Keeps secrets and payloads out of log lines, whoever writes them: the last step before a line is written.

Our own code logs ids and counts. This is for what slips through: an error text with an address that has a password in
it, a library that logs a header, a field called `payload`.
"""

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from leaseforge.secret_names import MASK, is_secret

LEFT_OUT = "[left out]"
_CONTENT = frozenset({"payload", "payloads", "result", "body"})
"""Names of what callers send and handlers answer: never logged."""
_PLAIN = (int, float, bool, type(None))
_DEEPEST = 6

_IN_TEXT = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^\s/@]*:[^\s/@]*@"  # user:password@ of an address
    r"|(?P<word>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"
    r"|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"  # a signed token
    r"|\blf_[0-9a-f]{16}_[\w-]{20,}",  # an API token
    re.IGNORECASE,
)
_SIGNS = ("://", "bearer", "basic", "eyj", "lf_")
"""Each of what is looked for has one of these in it; case does not matter."""


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Masks secrets of a log line in place; a structlog processor."""
    for name, value in event.items():
        event[name] = _redacted(name, value, 0)
    return event


def redacted_text(text: str) -> str:
    """The text without what looks like a password or a token."""
    if text.isascii():  # beyond ASCII other letters count as these in another case
        lowered = text.lower()
        if not any([sign in lowered for sign in _SIGNS]):  # noqa: C419 -- a generator takes thrice as long
            return text
    return _IN_TEXT.sub(_masked, text)


def _redacted(name: str, value: Any, depth: int) -> Any:
    if is_secret(name, value):
        return MASK
    if name.lower() in _CONTENT:
        return LEFT_OUT
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, bytes) or depth >= _DEEPEST:
        return LEFT_OUT
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping):
        return {str(key): _redacted(str(key), item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted("", item, depth + 1) for item in value]
    return redacted_text(str(value))


def _masked(found: re.Match[str]) -> str:
    if found["scheme"]:
        return f"{found['scheme']}{MASK}@"
    return f"{found['word'] or ''}{MASK}"
