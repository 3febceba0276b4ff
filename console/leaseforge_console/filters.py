"""Numbers, sizes, times and ids as an operator reads them. Templates format with these and nothing else."""

from datetime import UTC, datetime

from leaseforge_console.payloads import visible

_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"))
NOTHING = "\N{EN DASH}"
"""Stands where there is no value."""


def number(value: float) -> str:
    """12481 -> `12,481`; fractions keep one digit below 100."""
    if abs(value) < 100 and value != round(value):
        return f"{value:.1f}"
    return f"{round(value):,}"


def compact(value: int) -> str:
    """A count that must fit a tile: whole up to 99,999, then `1.36 M`."""
    if abs(value) < 100_000:
        return f"{value:,}"
    for limit, unit in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= limit:
            return f"{value / limit:.2f} {unit}"
    return f"{value / 1e3:.0f} k"


def rate(value: float) -> str:
    """Jobs a second: two digits that mean something, `0.05`, `3.2`, `382`."""
    if value == 0:
        return "0"
    if value < 0.1:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 10 else f"{round(value):,}"


def percent(part: float) -> str:
    """A share of 0 to 1: `0 %`, `0.3 %`, `18 %`; never 0 or 100 that is not."""
    value = part * 100
    if value in (0, 100):
        return f"{value:.0f} %"
    return f"{value:.0f} %" if 10 <= value < 99.5 else f"{min(max(value, 0.1), 99.9):.1f} %"


def size(count: int) -> str:
    """Bytes: `212 B`, `1.2 KiB`, `3.4 MiB`."""
    if count < 1024:
        return f"{count} B"
    amount, unit = count / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}"


def span(seconds: float) -> str:
    """A length of time in at most two units: `110 ms`, `1.2 s`, `38 s`, `4 min 12 s`, `3 d 4 h`."""
    seconds = max(seconds, 0.0)
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    for position, (length, unit) in enumerate(_SPANS):
        if whole >= length:
            smaller, small_unit = (_SPANS[position + 1]) if position + 1 < len(_SPANS) else (1, "s")
            rest = whole % length // smaller
            return f"{whole // length} {unit} {rest} {small_unit}" if rest else f"{whole // length} {unit}"
    raise AssertionError  # the last unit is a minute and `whole` is at least one


def relative(moment: datetime, now: datetime) -> str:
    """`12 s ago`, `in 4 min 12 s`, `now` within a second."""
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    text = span(round(abs(seconds)))
    return f"{text.replace('.0 ', ' ')} ago" if seconds > 0 else f"in {text.replace('.0 ', ' ')}"


def exact(moment: datetime) -> str:
    """`2026-11-29 03:38:18.204 UTC`."""
    at = moment.astimezone(UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC"


def clock(moment: datetime) -> str:
    """The time of day to the millisecond, UTC: `03:38:18.204`."""
    at = moment.astimezone(UTC)
    return f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"


def machine(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds, for a `datetime` attribute."""
    return f"{moment.astimezone(UTC).isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


def short(identifier: str) -> str:
    """The head of an id, enough to tell jobs of one page apart; the whole stands in its title."""
    return identifier if len(identifier) <= 12 else f"{identifier[:8]}…"


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 job`, `2 jobs`, `12,481 jobs`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


FILTERS = {
    filter_.__name__: filter_
    for filter_ in (number, compact, rate, percent, size, span, relative, exact, clock, machine, short, plural, visible)
}
