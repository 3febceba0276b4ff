"""The id that ties an answer, the log lines about it and what the caller sees together."""

import re
import secrets
from typing import Any

HEADER = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_SCOPE_KEY = "leaseforge_request_id"


def request_id(scope: Any) -> str:
    """One id for the whole request: the caller's own when it is short and harmless, or a new one."""
    known: str | None = scope.get(_SCOPE_KEY)
    if known is None:
        sent = next((value for name, value in scope["headers"] if name == HEADER), b"")
        known = scope[_SCOPE_KEY] = sent.decode() if _SANE.fullmatch(sent) else secrets.token_hex(16)
    return known
