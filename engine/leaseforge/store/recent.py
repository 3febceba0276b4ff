"""Answers that last a while, kept for calls that say so."""

import time
from typing import Any

from leaseforge.calls import Call

MOST = 2048
"""Beyond so many answers all are forgotten: cheaper than finding the oldest, and none is needed."""


class Recent:
    """What an executor heard lately, by call."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Any, ...], tuple[float, Any]] = {}

    def find(self, call: Call[Any]) -> tuple[Any] | None:
        """The raw answer to an equal call, alone in a tuple, if it is fresh enough."""
        kept = self._answers.get(_key(call)) if call.fresh_for_s else None
        if kept is not None and time.monotonic() - kept[0] < call.fresh_for_s:
            return (kept[1],)
        return None

    def keep(self, call: Call[Any], answer: Any) -> None:
        """Remembers an answer if its call may be answered from memory."""
        if call.fresh_for_s:
            if len(self._answers) >= MOST:
                self._answers.clear()
            self._answers[_key(call)] = (time.monotonic(), answer)


def _key(call: Call[Any]) -> tuple[Any, ...]:
    return (call.script.sha, call.keys, call.args)
