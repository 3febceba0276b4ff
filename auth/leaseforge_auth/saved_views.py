"""Filters of lists that people keep under names of their own. They live beside the account and go with it."""

import itertools
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, answer
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.store import Store
from leaseforge_auth import keys
from leaseforge_auth.calls import SCRIPTS
from leaseforge_auth.errors import UserNotFound, ViewNotFound

MOST_OF_ONE_ACCOUNT = 50
MAX_NAME = 60
MAX_QUERY = 2_000


@dataclass(frozen=True, slots=True)
class SavedView:
    """A filter with a name. `query` is the part of an address behind the `?`."""

    id: str
    list: str
    name: str
    query: str


async def views_of(store: Store, username: str) -> tuple[SavedView, ...]:
    """All views of an account, by name."""
    return await store.run(read_views(username))


async def save_view(store: Store, username: str, *, list_name: str, name: str, query: str) -> SavedView:
    """Keeps a filter. Raises BadInput for a name that cannot be or is taken, or too many views; UserNotFound."""
    name = checked_name(name)
    if len(query) > MAX_QUERY or not query.isprintable():
        raise BadInput([FieldProblem("query", f"must be {MAX_QUERY:,} printable characters at most")])
    view = SavedView(secrets.token_hex(8), list_name, name, query)
    match await store.run(keep_view(username, view)):
        case Answer.NOT_FOUND:
            raise UserNotFound(username)
        case Answer.CONFLICT:
            raise _taken(name)
        case Answer.REFUSED:
            words = f"would be the view number {MOST_OF_ONE_ACCOUNT + 1}: delete one first"
            raise BadInput([FieldProblem("name", words)])
    return view


async def rename_view(store: Store, username: str, view_id: str, name: str) -> str:
    """Gives a view another name; the name as it is kept. Raises BadInput, ViewNotFound."""
    name = checked_name(name)
    match await store.run(change_name(username, view_id, name)):
        case Answer.NOT_FOUND:
            raise ViewNotFound(view_id)
        case Answer.CONFLICT:
            raise _taken(name)
    return name


async def delete_view(store: Store, username: str, view_id: str) -> None:
    """Forgets a view. Raises ViewNotFound."""
    if await store.run(drop_view(username, view_id)) is Answer.NOT_FOUND:
        raise ViewNotFound(view_id)


def checked_name(name: str) -> str:
    """The name without spaces around it. Raises BadInput for one that cannot be."""
    name = name.strip()
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise BadInput([FieldProblem("name", f"must be 1 to {MAX_NAME} printable characters")])
    return name


def read_views(username: str) -> Call[tuple[SavedView, ...]]:
    """The views of an account, by list and name."""

    def read(raw: Sequence[bytes]) -> tuple[SavedView, ...]:
        rows = [[value.decode("utf-8", "replace") for value in raw[i : i + 4]] for i in range(0, len(raw), 4)]
        return tuple(
            sorted(itertools.starmap(SavedView, rows), key=lambda view: (view.list, view.name.lower(), view.name))
        )

    return Call(SCRIPTS.load("view_list"), keys.named(views=keys.views_of(username)), (), read)


def keep_view(username: str, view: SavedView) -> Call[Answer]:
    """Stores a new view: created, not_found (no such account), conflict (the name is taken) or refused (too many)."""
    args: tuple[tuple[str, Arg], ...] = (
        ("id", view.id),
        ("list", view.list),
        ("name", view.name),
        ("query", view.query),
        ("most", MOST_OF_ONE_ACCOUNT),
    )
    view_keys = keys.named(account=keys.account(username), views=keys.views_of(username))
    return Call(SCRIPTS.load("view_save"), view_keys, args, answer)


def change_name(username: str, view_id: str, name: str) -> Call[Answer]:
    """Renames a view: ok, not_found or conflict (the name is taken)."""
    args: tuple[tuple[str, Arg], ...] = (("id", view_id), ("name", name))
    return Call(SCRIPTS.load("view_rename"), keys.named(views=keys.views_of(username)), args, answer)


def drop_view(username: str, view_id: str) -> Call[Answer]:
    """Removes a view: ok or not_found."""
    return Call(SCRIPTS.load("view_delete"), keys.named(views=keys.views_of(username)), (("id", view_id),), answer)


def _taken(name: str) -> BadInput:
    return BadInput([FieldProblem("name", f"is taken: this list has a view {name} already")])
