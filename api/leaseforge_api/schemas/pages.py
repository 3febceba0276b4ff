"""Lists: a page of items, how many there are in all, and where the next page starts."""

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode

from litestar import Request
from litestar.params import QueryParameter
from msgspec import Struct

from leaseforge import limits
from leaseforge.errors import BadInput, FieldProblem
from leaseforge_auth.signing import KeyRing

T = TypeVar("T")

Limit = Annotated[int, QueryParameter(ge=1, le=limits.MAX_PAGE, description="How many items a page holds at most.")]
Cursor = Annotated[str | None, QueryParameter(max_length=384, description="`next` of the page before.")]
OfQueue = Annotated[str | None, QueryParameter(description="Of this queue; all queues if left out.")]
DEFAULT_LIMIT = 50
PURPOSE = "leaseforge cursor"
_MAC_BYTES = 16
_NOT_OURS = "is not a cursor of this list: use `next` of the page before, with the same filters"


class Listed(Struct, Generic[T], frozen=True):
    """One page. `total` counts all items; `next` is the cursor of the next page, null on the last one."""

    items: list[T]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The page a request asks for: `limit` items from `place` on, which most lists count from 0; None: the first."""

    limit: int
    place: str | None
    cursors: "Cursors"
    list_name: str

    @property
    def offset(self) -> int:
        """How many items stand before the page, in lists whose places are numbers."""
        return int(self.place or 0)

    def part_of(self, everything: Sequence[T]) -> Sequence[T]:
        """The page's items, of a list that was read whole."""
        return everything[self.offset : self.offset + self.limit]

    def listed(self, items: Sequence[T], total: int) -> Listed[T]:
        """The answer: the page's items, fewer than `limit` also where some went while they were read."""
        following = self.offset + self.limit
        return Listed([*items], total, self.at(following) if following < total else None)

    def at(self, place: int | str) -> str:
        """The cursor of the page that starts there."""
        return self.cursors.write(self.list_name, str(place))


class Cursors:
    """Writes and reads cursors. Each is sealed together with the list it belongs to, filters included.

    What a client cannot make up it cannot use to ask for more than a page after another.
    """

    def __init__(self, secrets_newest_first: Sequence[str]) -> None:
        self._keys = KeyRing(secrets_newest_first, PURPOSE)

    def write(self, list_name: str, place: str) -> str:
        """The cursor for this place of this list."""
        kid = self._keys.newest_id
        return _encode(self._mac(kid, list_name, place) + f"{kid} {place}".encode())

    def read(self, list_name: str, cursor: str) -> str:
        """The place a cursor stands for. Raises BadInput for one of another list, or not made here."""
        try:
            raw = _decode(cursor)
            kid, _, place = raw[_MAC_BYTES:].decode().partition(" ")
            is_ours = hmac.compare_digest(raw[:_MAC_BYTES], self._mac(kid, list_name, place))
        except (ValueError, KeyError):
            is_ours = False
        if not is_ours:
            raise BadInput([FieldProblem("cursor", _NOT_OURS)])
        return place

    def _mac(self, kid: str, list_name: str, place: str) -> bytes:
        key = self._keys.get(kid)
        if key is None:
            raise KeyError(kid)
        return hmac.digest(key, f"{place} {list_name}".encode(), "sha256")[:_MAC_BYTES]


def page_of(cursors: Cursors) -> Callable[..., Awaitable[Asked]]:
    """What routes with lists are given as `page`."""

    async def page(request: Request[Any, Any, Any], limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Asked:
        filters = sorted((name, value) for name, value in request.query_params.multi_items() if name not in _OURS)
        list_name = f"{request.scope['path'].rstrip('/')}?{urlencode(filters)}"
        return Asked(limit, cursors.read(list_name, cursor) if cursor else None, cursors, list_name)

    return page


_OURS = ("limit", "cursor")


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        padded = text + "=" * (-len(text) % 4)
        return base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeError, binascii.Error) as error:
        raise ValueError(text) from error
