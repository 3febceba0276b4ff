"""What scripts did to jobs that carry a trace, where their answers tell of it only as a number.

Each such job is named at the end of the answer, so that whoever called can say it in the job's trace. An answer about
jobs without a trace has nothing there.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from leaseforge.records import whole


class Moved(NamedTuple):
    """One job's move. `attempts` are those it has had.

    `how` is scheduled or retrying (promoted from there), lost:<state a lost lease led to>, dead:<reason>, or
    replayed:<state it had ended in>.
    """

    how: str
    id: str
    traceparent: str
    attempts: int


def moves(raw: Sequence[Any], at: int) -> tuple[Moved, ...]:
    """The moves an answer ends with, from its place `at`."""
    if len(raw) <= at:
        return ()
    words = [word.decode("utf-8", "replace") for word in raw[at]]
    rows = zip(words[::4], words[1::4], words[2::4], words[3::4], strict=True)
    return tuple([Moved(how, job_id, traceparent, whole(attempts)) for how, job_id, traceparent, attempts in rows])
