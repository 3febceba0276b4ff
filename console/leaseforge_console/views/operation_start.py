"""What is asked before a bulk operation is run, or run on: how fast, when to stop by itself, and a word to be typed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from leaseforge import limits
from leaseforge.bulk_records import REPLAYS, BulkAction, BulkOperation, BulkOrder, BulkPace, BulkState
from leaseforge_console.filters import span
from leaseforge_console.views.queues import TYPED_ABOVE

_SLOWEST, _FASTEST, _IN_S = 20, 500, 300
_STOP_AT = 20
_PACED = (*REPLAYS, BulkAction.PROMOTE)
"""After these, jobs run: how fast is a question to ask."""


@dataclass(frozen=True, slots=True)
class StartForm:
    """What is asked before a run. `rate` and `stop_at` (percent, '' for never) are None where they do not matter.

    `known` are the other operations at work on the same jobs that the form shows; `word` is to be typed.
    """

    rate: str | None
    stop_at: str | None
    word: str | None
    known: str
    takes: str
    problems: dict[str, str]


def start_form(
    operation: BulkOperation, meeting: Iterable[BulkOperation], sent: dict[str, str], problems: dict[str, str]
) -> StartForm | None:
    """What to ask before it is run, or run on."""
    if operation.state not in (BulkState.READY, BulkState.PAUSED, BulkState.STOPPED) or not operation.counts.total:
        return None
    order = _offered(operation)
    stop_at = "" if order.stop_at_failure_rate is None else f"{order.stop_at_failure_rate * 100:g}"
    left = operation.counts.total - operation.counts.taken
    return StartForm(
        rate=sent.get("rate", str(order.rate_per_second)) if order.action in _PACED else None,
        stop_at=sent.get("stop_at", stop_at) if order.action in REPLAYS else None,
        word=_word_for(operation),
        known=",".join(_going_on(meeting, operation)),
        takes=span(left / order.rate_per_second),
        problems=problems,
    )


def start_sent(
    operation: BulkOperation, meeting: Iterable[BulkOperation], sent: dict[str, str]
) -> tuple[BulkPace | None, dict[str, str]]:
    """The pace the form asks for, None where there is none to ask; and what is wrong with what was sent, by field."""
    pace, problems = _pace_sent(operation, sent)
    word = _word_for(operation)
    if word is not None and sent["word"].strip().lower() != word:
        problems["word"] = f"Type the word {word} to confirm."
    if set(_going_on(meeting, operation)) - set(sent["known"].split(",")):
        problems["known"] = "Somebody has begun on these jobs meanwhile."
    return pace, problems


def _word_for(operation: BulkOperation) -> str | None:
    """What has to be typed before the first run, None where a click is enough."""
    is_many = operation.counts.total > TYPED_ABOVE and not operation.run
    return operation.order.action.value if is_many else None


def _going_on(meeting: Iterable[BulkOperation], operation: BulkOperation) -> list[str]:
    """The operations at work on some of the same jobs."""
    return sorted(one.id for one in meeting if one.state is BulkState.RUNNING and one.id != operation.id)


def _offered(operation: BulkOperation) -> BulkOrder:
    """The order at the pace that is offered: before its first run, one that workers and their targets can stand."""
    order = operation.order
    if operation.run or order.action not in _PACED:
        return order
    rate = min(max(-(-operation.counts.total // _IN_S), _SLOWEST), _FASTEST)
    stop_at = _STOP_AT / 100 if order.action in REPLAYS else None
    return replace(order, rate_per_second=rate, stop_at_failure_rate=stop_at)


def _pace_sent(operation: BulkOperation, sent: dict[str, str]) -> tuple[BulkPace | None, dict[str, str]]:
    action, problems = operation.order.action, dict[str, str]()
    if action not in _PACED:
        return None, problems
    rate, stop_at = sent.get("rate", "").replace(",", "").strip(), sent.get("stop_at", "").strip()
    if not (rate.isascii() and rate.isdigit() and len(rate) < 7 and 1 <= int(rate) <= limits.MAX_OPERATION_RATE):
        problems["rate"] = f"A whole number from 1 to {limits.MAX_OPERATION_RATE:,}."
    share = _share(stop_at) if action in REPLAYS else None
    if share is None and stop_at and action in REPLAYS:
        problems["stop_at"] = "A percentage from 0 to 100, or nothing for never."
    return (None if problems else BulkPace(int(rate), share)), problems


def _share(text: str) -> float | None:
    try:
        share = float(text.rstrip("% ")) / 100
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None
