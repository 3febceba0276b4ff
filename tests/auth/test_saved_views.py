"""Saved views: kept beside the account, bounded, one name a list, gone with the account."""

import pytest

from leaseforge.answers import Answer
from leaseforge.errors import BadInput
from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.errors import UserNotFound, ViewNotFound
from leaseforge_auth.roles import Role
from leaseforge_auth.saved_views import MOST_OF_ONE_ACCOUNT, delete_view, rename_view, save_view, views_of


@pytest.fixture
async def store(store: Store) -> Store:
    for name in ("ada", "bob"):
        made = calls.create_account(name, password_hash="x", roles=[Role.ADMIN], origin="api")
        assert await store.run(made) is Answer.CREATED
    return store


async def names(store: Store, username: str = "ada") -> list[str]:
    return [view.name for view in await views_of(store, username)]


async def test_views_are_kept_by_list_and_name_and_belong_to_one_account(store: Store) -> None:
    await save_view(store, "ada", list_name="jobs", name=" Zebra ", query="queue=mail&text=no+answer")
    await save_view(store, "ada", list_name="jobs", name="apple", query="")
    await save_view(store, "ada", list_name="dead", name="apple", query="queue=mail")

    found = await views_of(store, "ada")

    assert [(view.list, view.name, view.query) for view in found] == [
        ("dead", "apple", "queue=mail"),
        ("jobs", "apple", ""),
        ("jobs", "Zebra", "queue=mail&text=no+answer"),
    ]
    assert await views_of(store, "bob") == ()


async def test_a_name_is_taken_once_a_list(store: Store) -> None:
    await save_view(store, "ada", list_name="jobs", name="mine", query="a")
    other = await save_view(store, "ada", list_name="jobs", name="other", query="b")

    with pytest.raises(BadInput, match="mine"):
        await save_view(store, "ada", list_name="jobs", name="mine", query="c")
    with pytest.raises(BadInput, match="mine"):
        await rename_view(store, "ada", other.id, "mine")
    await rename_view(store, "ada", other.id, "other")
    await save_view(store, "bob", list_name="jobs", name="mine", query="d")

    assert [view.query for view in await views_of(store, "ada")] == ["a", "b"]


async def test_a_view_is_renamed_and_deleted_by_its_owner_only(store: Store) -> None:
    view = await save_view(store, "ada", list_name="jobs", name="mine", query="queue=a\N{PILE OF POO}")

    for username, view_id in (("bob", view.id), ("ada", "0" * 16), ("ada", "")):
        with pytest.raises(ViewNotFound):
            await rename_view(store, username, view_id, "theirs")
        with pytest.raises(ViewNotFound):
            await delete_view(store, username, view_id)
    assert await rename_view(store, "ada", view.id, " ours ") == "ours"
    assert [(each.name, each.query) for each in await views_of(store, "ada")] == [("ours", "queue=a\N{PILE OF POO}")]
    await delete_view(store, "ada", view.id)
    assert await names(store) == []


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "two\nlines", "tab\there", "\x00", "\u202eturned"])
async def test_names_that_cannot_be_are_refused(store: Store, name: str) -> None:
    view = await save_view(store, "ada", list_name="jobs", name="x" * 60, query="")

    with pytest.raises(BadInput):
        await save_view(store, "ada", list_name="jobs", name=name, query="")
    with pytest.raises(BadInput):
        await rename_view(store, "ada", view.id, name)
    assert await names(store) == ["x" * 60]


async def test_queries_are_one_bounded_line(store: Store) -> None:
    for query in ("x" * 2001, "a\nb"):
        with pytest.raises(BadInput):
            await save_view(store, "ada", list_name="jobs", name="mine", query=query)


async def test_there_are_only_so_many(store: Store) -> None:
    for number in range(MOST_OF_ONE_ACCOUNT):
        await save_view(store, "ada", list_name="jobs", name=f"view {number}", query="")

    with pytest.raises(BadInput, match="delete one first"):
        await save_view(store, "ada", list_name="jobs", name="one more", query="")
    assert len(await names(store)) == MOST_OF_ONE_ACCOUNT


async def test_views_go_with_the_account(store: Store) -> None:
    await save_view(store, "ada", list_name="jobs", name="mine", query="")

    await store.run(calls.delete_account("ada"))

    assert await names(store) == []
    with pytest.raises(UserNotFound):
        await save_view(store, "ada", list_name="jobs", name="mine", query="")
    await store.run(calls.create_account("ada", password_hash="x", roles=[Role.VIEWER], origin="api"))
    assert await names(store) == []
