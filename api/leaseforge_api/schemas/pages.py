"""Lists: a page of items, how many there are in all, and where the next page starts."""

import base64
import binascii
from typing import Annotated, Generic, TypeVar

from litestar.params import QueryParameter
from msgspec import Struct

from leaseforge import limits
from leaseforge.errors import BadInput, FieldProblem

T = TypeVar("T")

Limit = Annotated[int, QueryParameter(ge=1, le=limits.MAX_PAGE, description="How many items a page holds at most.")]
Cursor = Annotated[str | None, QueryParameter(max_length=64, description="`next` of the page before.")]
DEFAULT_LIMIT = 50


class Listed(Struct, Generic[T], frozen=True):
    """One page. `total` counts all items; `next` is the cursor of the next page, null on the last one."""

    items: list[T]
    total: int
    next: str | None


def offset_of(cursor: str | None) -> int:
    """Where a page starts. The cursor is ours alone to read: one we did not make is refused (BadInput)."""
    if cursor is None:
        return 0
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode("ascii")
        kind, _, offset = text.partition(":")
        if kind == "o" and offset.isdecimal() and int(offset) <= limits.MAX_OFFSET:
            return int(offset)
    except (UnicodeError, binascii.Error):
        pass
    raise BadInput([FieldProblem("cursor", "is not a cursor of this API: use `next` of the page before")])


def cursor_after(*, offset: int, count: int, total: int) -> str | None:
    """The cursor of the page that follows `count` items from `offset` on."""
    following = offset + count
    if count == 0 or following >= total:
        return None
    return cursor_at(following)


def cursor_at(offset: int) -> str:
    """The cursor of the page that starts there."""
    return base64.urlsafe_b64encode(f"o:{offset}".encode()).rstrip(b"=").decode()
