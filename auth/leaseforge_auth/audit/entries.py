"""What one entry of the audit trail says."""

from enum import StrEnum
from typing import Any

import msgspec

from leaseforge import limits

MAX_TARGET = 200
MAX_REASON = limits.MAX_REASON
MAX_DETAIL_BYTES = 4096
SAYS_SOMETHING = r"[^\s\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]"
"""Found in a reason that is more than spaces and signs nobody sees."""


class Step(StrEnum):
    """An action leaves two entries: one before anything is done, one with how it ended."""

    INTENT = "intent"
    OUTCOME = "outcome"


class Result(StrEnum):
    """How an action ended. One with an intent and no outcome is `unknown`: its server died, or still works on it."""

    OK = "ok"
    REFUSED = "refused"
    """Nothing was changed: no permission, wrong input, or a state that does not allow it."""
    FAILED = "failed"
    """A fault, or Redis was away: something may have been changed."""
    UNKNOWN = "unknown"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry. `id` joins the two of an action; times are Redis time in ms.

    `user` is '' for somebody who is not known (a refused login). `credential` is session, token or api_token.
    `detail` holds small facts about what was changed, never secrets. An outcome says everything again, so that it can
    be read alone; `began_at_ms` is then the time of the intent.
    """

    id: str
    step: Step
    at_ms: int
    action: str
    user: str = ""
    roles: tuple[str, ...] = ()
    credential: str = ""
    address: str = ""
    target: str = ""
    reason: str = ""
    request_id: str = ""
    began_at_ms: int = 0
    result: Result = Result.UNKNOWN
    status: int = 0
    detail: dict[str, Any] = {}


class Stored(msgspec.Struct, frozen=True):
    """An entry as it stands in Redis. `is_open`: an intent that has no outcome yet."""

    sequence: int
    body: bytes
    mac: str
    kid: str
    is_open: bool = False

    def entry(self) -> Entry | None:
        """What it says; None if that cannot be read any more."""
        try:
            return decode(self.body)
        except msgspec.MsgspecError:
            return None


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Entry).decode
