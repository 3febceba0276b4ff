"""How far a bulk operation is: its bar, its pace, and when it will be through."""

from dataclasses import dataclass
from datetime import datetime

from leaseforge.bulk_records import BulkOperation, BulkState
from leaseforge_console.filters import number, rate, span
from leaseforge_console.views.bulk_words import VERBS

_WIDTH = 1000.0
_SOON_S = 1.0
"""Before that there is no pace to speak of."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the bar, in thousandths of its width."""

    tone: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of how many jobs are through. `pace` and `left_s` are None where nothing moves.

    `parts` are the bar; `words` say the same for whoever does not see it.
    """

    taken: int
    total: int
    parts: tuple[Stretch, ...]
    words: str
    pace: float | None
    left_s: float | None

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.taken / self.total if self.total else 0.0


def progress(operation: BulkOperation, now: datetime) -> Progress:
    """As of its counts; the pace is that of the present run."""
    counts = operation.counts
    pace = _pace(operation, now)
    left = counts.total - counts.taken
    skipped, failed = counts.changed + counts.gone, sum(counts.failed.values())
    told = [f"{number(counts.done)} {VERBS[operation.order.action].done}"]
    told += [f"{number(skipped)} skipped"] if skipped else []
    told += [f"{number(failed)} failed"] if failed else []
    return Progress(
        taken=counts.taken,
        total=counts.total,
        parts=_parts(counts.total, (("completed", counts.done), ("cancelled", skipped), ("dead", failed))),
        words=f"{', '.join(told)} of {number(counts.total)}",
        pace=pace,
        left_s=left / pace if pace else None,
    )


def time_left(found: Progress) -> str:
    """`about 12 s left`, '' where nobody can tell."""
    return f"about {span(round(found.left_s))} left" if found.left_s is not None and found.left_s >= 1 else ""


def pace_words(found: Progress) -> str:
    """`20/s`, '' where nothing moves."""
    return f"{rate(found.pace)}/s" if found.pace else ""


def _parts(total: int, counted: tuple[tuple[str, int], ...]) -> tuple[Stretch, ...]:
    parts, x = [], 0.0
    for tone, count in counted:
        if total and count:
            width = _WIDTH * count / total
            parts.append(Stretch(tone, round(x, 1), round(width, 1)))
            x += width
    return tuple(parts)


def _pace(operation: BulkOperation, now: datetime) -> float | None:
    """Jobs a second since it was last run; before that is known, those it may take."""
    if operation.state is not BulkState.RUNNING or operation.run_at is None:
        return None
    seconds = (now - operation.run_at).total_seconds()
    taken = operation.counts.taken - operation.run_from
    if seconds < _SOON_S or not taken:
        return float(operation.order.rate_per_second)
    return min(taken / seconds, float(operation.order.rate_per_second))
