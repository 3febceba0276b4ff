"""W3C trace context as text: which trace a job belongs to, and as whose child its spans count.

Nothing here needs OpenTelemetry: a job carries its producer's context whether anything here records traces or not.
"""

import re
from typing import NamedTuple, TypeGuard

from leaseforge.limits import MAX_TRACESTATE_BYTES

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_LATER_VERSION = re.compile(rf"(?!00)({_TRACEPARENT.pattern})-.*")
_MOST_MEMBERS = 32
_MEMBER = re.compile(
    r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x21-\x2b\x2d-\x3c\x3e-\x7e\x20]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)
_SAMPLED = 1


class TraceContext(NamedTuple):
    """A position in a trace: `traceparent` names it, `tracestate` is what tracing systems along the way added ('')."""

    traceparent: str
    tracestate: str = ""

    @property
    def trace_id(self) -> str:
        """The trace as 32 hex digits."""
        return self.traceparent[3:35]


def is_traceparent(text: object) -> TypeGuard[str]:
    """Whether `text` is a traceparent in the form of version 00."""
    return isinstance(text, str) and _TRACEPARENT.fullmatch(text) is not None


def is_tracestate(text: object) -> bool:
    """Whether `text` is a tracestate that a job keeps: well formed, and at most 512 bytes."""
    if not isinstance(text, str) or not 0 < len(text) <= MAX_TRACESTATE_BYTES:
        return False
    members = [member.strip(" \t") for member in text.split(",")]
    keys = [member.partition("=")[0] for member in members if member]
    return (
        0 < len(keys) <= _MOST_MEMBERS
        and len(set(keys)) == len(keys)
        and all(_MEMBER.fullmatch(member) for member in members if member)
    )


def read_headers(traceparent: str | None, tracestate: str | None) -> TraceContext | None:
    """The context in a request's headers. A malformed one counts as none: it is no reason to refuse a request."""
    sent = (traceparent or "").strip(" \t")
    if not is_traceparent(sent):
        later = _LATER_VERSION.fullmatch(sent)
        if later is None:
            return None
        sent = later[1]  # a later version may say more behind what every version says
    # The sampled flag is all that version 00 knows of the flags.
    flags = int(sent[53:55], 16) & _SAMPLED
    state = (tracestate or "").strip(" \t")
    return TraceContext(f"00-{sent[3:52]}-{flags:02x}", state if is_tracestate(state) else "")
