"""Values every answer writes the same way."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from leaseforge_auth.audit.entries import MAX_REASON, SAYS_SOMETHING

Instant = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"}, examples=["2026-08-19T15:30:00.000Z"])]
"""An instant in UTC with milliseconds."""


def instant(at: datetime) -> Instant:
    """The instant as answers write it."""
    try:
        at = at.astimezone(UTC)
    except OverflowError:  # the first and the last day of the calendar, seen from far away
        at = at.replace(tzinfo=UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_or_none(at: datetime | None) -> Instant | None:
    """The same for what may not have happened."""
    return None if at is None else instant(at)


def seconds(ms: int | None) -> float | None:
    """Milliseconds as the seconds answers speak in."""
    return None if ms is None else ms / 1000


Reason = Annotated[
    str,
    msgspec.Meta(
        min_length=1, max_length=MAX_REASON, pattern=SAYS_SOMETHING, description="why, for whoever reads the log later"
    ),
]


def instant_of(unix_s: float) -> Instant:
    """A Unix time as answers write it."""
    return instant(datetime.fromtimestamp(unix_s, UTC))


def unix_s(at: datetime) -> float:
    """An instant somebody asked for as Unix time; without a zone it is UTC, as all times of this API."""
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def unix_ms(at: datetime | None) -> int | None:
    """The same in milliseconds, for filters that need not be set."""
    return None if at is None else round(unix_s(at) * 1000)
