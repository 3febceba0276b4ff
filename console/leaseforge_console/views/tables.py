"""A table somebody looks through by its address: a filter, the column it is sorted by, one page of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from leaseforge import limits
from leaseforge_console.filters import plural

Row = TypeVar("Row")

MAX_FIND = 100


@dataclass(frozen=True, slots=True)
class Pages:
    """The foot of a list: what of it this page shows, and the ways to the pages before and behind."""

    text: str
    previous: str | None
    following: str | None


def shown(offset: int, count: int, total: int, what: str) -> str:
    """What of a list a page shows: `51-100 of 120 jobs`, with a dash; just `12 jobs` where that is all there are."""
    if count == total:
        return plural(total, what)
    part = f"{offset + 1:,}\N{EN DASH}{offset + count:,}" if count else "none"
    return f"{part} of {plural(total, what)}"


@dataclass(frozen=True, slots=True)
class Look:
    """What the address asks for. `only` names a choice of rows; `sort` a column, reversed by a `-` in front."""

    find: str = ""
    only: str = ""
    sort: str = ""
    offset: int = 0

    @classmethod
    def read(cls, find: str, only: str, sort: str, offset: int) -> "Look":
        """From an address; what is too long or too far away is cut."""
        return cls(find.strip()[:MAX_FIND], only[:MAX_FIND], sort[:MAX_FIND], min(max(offset, 0), limits.MAX_OFFSET))

    def query(self, **changes: str | int) -> str:
        """As part of an address, with its `?`; '' if nothing is asked for. Any change leads to the first page."""
        values: dict[str, str | int] = {"q": self.find, "only": self.only, "sort": self.sort}
        given = {name: value for name, value in (values | changes).items() if value}
        return f"?{urlencode(given)}" if given else ""

    @property
    def is_narrowed(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.find or self.only)


EVERYTHING = Look()


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column rows are sorted by. `falls`: the greatest first, which is what people look for in numbers."""

    name: str
    label: str
    key: Callable[[Row], Any]
    word: str
    falls: bool = True


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a sorted column: where a press leads, and `ascending`, `descending` or ''."""

    label: str
    path: str
    order: str


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of the form."""

    value: str
    word: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Narrowed(Generic[Row]):
    """The page of a table. `heads` by the column's name; `found` rows match of `of`."""

    look: Look
    path: str
    rows: tuple[Row, ...]
    found: int
    of: int
    heads: dict[str, Head]
    sorts: tuple[Choice, ...]
    onlies: tuple[Choice, ...]
    pages: Pages


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """How the rows of one page are looked through. The first column is the order nobody asked for.

    `what` is one row in a word.
    """

    path: str
    what: str
    columns: tuple[Column[Row], ...]
    onlies: tuple[tuple[str, str, Callable[[Row], bool]], ...]
    words: Callable[[Row], Iterator[str]]
    page_size: int

    def look(self, rows: Sequence[Row], look: Look) -> Narrowed[Row]:
        """One page of what matches. A page beyond the end, or a column nobody knows, shows the first."""
        only = next((matches for name, _, matches in self.onlies if name == look.only), None)
        found = [row for row in rows if (only is None or only(row)) and self._names(row, look.find)]
        column, turned = self._sorted_by(look.sort)
        found.sort(key=column.key, reverse=column.falls is not turned)
        offset = look.offset if look.offset < len(found) else 0
        rows_shown = tuple(found[offset : offset + self.page_size])
        return Narrowed(
            look=look,
            path=self.path,
            rows=rows_shown,
            found=len(found),
            of=len(rows),
            heads={each.name: self._head(each, look, column, turned=turned) for each in self.columns},
            sorts=self._sorts(column, turned=turned),
            onlies=tuple(Choice(name, word, name == look.only) for name, word, _ in self.onlies),
            pages=self._pages(look, offset, len(rows_shown), found=len(found), of=len(rows)),
        )

    def _names(self, row: Row, find: str) -> bool:
        return not find or any(find.lower() in word.lower() for word in self.words(row))

    def _sorted_by(self, sort: str) -> tuple[Column[Row], bool]:
        name = sort.removeprefix("-")
        column = next((each for each in self.columns if each.name == name), None)
        return (self.columns[0], False) if column is None else (column, sort.startswith("-"))

    def _head(self, column: Column[Row], look: Look, by: Column[Row], *, turned: bool) -> Head:
        is_by = column is by
        sort = f"-{column.name}" if is_by and not turned else column.name
        order = ("descending" if column.falls is not turned else "ascending") if is_by else ""
        return Head(column.label, self.path + look.query(sort=sort), order)

    def _sorts(self, by: Column[Row], *, turned: bool) -> tuple[Choice, ...]:
        offered = [Choice(each.name, each.word, each is by and not turned) for each in self.columns]
        if turned:
            offered.append(Choice(f"-{by.name}", f"{by.word}, reversed", is_chosen=True))
        return tuple(offered)

    def _pages(self, look: Look, offset: int, count: int, *, found: int, of: int) -> Pages:
        def path(to: int) -> str:
            return self.path + look.query(offset=to)

        last = offset + count
        is_all = count == found
        return Pages(
            f"{found:,} of {plural(of, self.what)}" if is_all else shown(offset, count, found, self.what),
            path(max(offset - self.page_size, 0)) if offset else None,
            path(last) if last < found else None,
        )
