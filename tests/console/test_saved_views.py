"""Saved views on the pages: offered where there is a filter, opened by their address, nobody else's."""

from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.roles import Role
from leaseforge_auth.saved_views import MOST_OF_ONE_ACCOUNT, SavedView, save_view, views_of
from leaseforge_console.views import list_tools
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from tests.console.browsing import Visitor, hidden_fields, words


@pytest.fixture(autouse=True)
async def _queue(store: Store, _clean: None) -> None:
    await store.run(operations.enqueue(new_job("send_email", {}, queue="mail")))


async def kept(store: Store, username: str = "operator") -> list[tuple[str, str, str]]:
    return [(view.list, view.name, view.query) for view in await views_of(store, username)]


async def test_the_view_that_is_open_is_marked_and_not_offered_again() -> None:
    saved = [
        SavedView("1", "jobs", "mine", "queue=mail"),
        SavedView("2", "dead", "theirs", "queue=mail"),
        SavedView("3", "a list of tomorrow", "unknown", "x=y"),
    ]

    here = list_tools.tools(JobList.JOBS, Asked(queue="mail", place="3"), saved)
    other = list_tools.tools(JobList.JOBS, Asked(queue="media", state="dead"), saved)
    nothing = list_tools.tools(JobList.JOBS, Asked(), saved)

    assert [(chip.name, chip.path, chip.is_current) for chip in here.chips] == [("mine", "/jobs?queue=mail", True)]
    assert here.hidden is None
    assert other.hidden == {"list": "jobs", "queue": "media", "state": "dead"}
    assert nothing.hidden is None
    assert [row.name for row in list_tools.views(saved).rows] == ["mine", "theirs"]


async def test_a_filter_is_saved_opened_renamed_and_deleted(operator: Visitor, store: Store) -> None:
    page = (await operator.get("/console/jobs?queue=mail&state=ready&within=3600&text=a%26b")).text
    fields = hidden_fields(page, "/console/views")

    answer = await operator.post("/console/views", fields, name=" On call ")

    assert answer.headers["location"] == "/console/jobs?queue=mail&state=ready&text=a%26b&within=3600"
    assert await kept(store) == [("jobs", "On call", "queue=mail&state=ready&text=a%26b&within=3600")]
    page = (await operator.get(answer.headers["location"])).text
    assert "Saved the view On call." in words(page)
    assert 'action="/console/views"' not in page
    assert "On call" in words((await operator.get("/console/jobs")).text)
    assert "On call" not in words((await operator.get("/console/delayed")).text)
    views = (await operator.get("/console/views")).text
    assert "queue mail · state ready · error contains a&b · within 1 hour" in words(views)
    [view] = await views_of(store, "operator")
    await operator.post(f"/console/views/{view.id}/rename", name="Nights")
    assert [name for _, name, _ in await kept(store)] == ["Nights"]
    await operator.post(f"/console/views/{view.id}/delete")
    assert await kept(store) == []
    assert "No view is saved yet" in words((await operator.get("/console/views")).text)


async def test_what_cannot_be_saved_is_said(operator: Visitor, store: Store) -> None:
    fields = hidden_fields((await operator.get("/console/dead/jobs?queue=mail")).text, "/console/views")
    await operator.post("/console/views", fields, name="mine")
    for name, problem in (("", "must be 1 to 60"), ("mine", "is taken"), ("x" * 61, "must be 1 to 60")):
        await operator.post("/console/views", fields, name=name)
        assert problem in words((await operator.get("/console/dead/jobs?queue=mail")).text)
    for number in range(MOST_OF_ONE_ACCOUNT - 1):
        await save_view(store, "operator", list_name="jobs", name=str(number), query="")

    await operator.post("/console/views", fields, name="one more")

    assert "delete one first" in words((await operator.get("/console/dead/jobs")).text)
    assert len(await kept(store)) == MOST_OF_ONE_ACCOUNT


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"list": "nothing"},
        {"list": "jobs", "state": "odd"},
        {"list": "jobs", "within": "x"},
        {"list": "jobs", "type": "x" * 200},
        {"list": "jobs", "text": "x" * 5000},
        {"list": "delayed", "state": "dead"},
        {"list": "dead", "group": "0" * 16},
        {"list": "jobs", "queue": "//evil.example"},
    ],
)
async def test_a_filter_that_is_none_is_not_saved(operator: Visitor, store: Store, fields: dict[str, str]) -> None:
    await operator.get("/console/jobs?queue=mail")

    answer = await operator.post("/console/views", fields, name="mine")

    assert answer.status_code == 400
    assert await kept(store) == []


async def test_a_view_is_its_owners_alone(visit: Callable[[Role], Any], store: Store) -> None:
    await store.run(calls.create_account("bob", password_hash="x", roles=[Role.ADMIN], origin="api"))
    theirs = await save_view(store, "bob", list_name="jobs", name="bob's own", query="queue=mail")
    admin: Visitor = await visit(Role.ADMIN)

    page = await admin.get("/console/views")
    renamed = await admin.post(f"/console/views/{theirs.id}/rename", name="mine now")
    deleted = await admin.post(f"/console/views/{theirs.id}/delete")

    assert "own" not in words(page.text).replace("shown", "")
    assert "bob" not in words((await admin.get("/console/jobs?queue=mail")).text)
    assert (renamed.status_code, deleted.status_code) == (404, 404)
    assert await kept(store, "bob") == [("jobs", "bob's own", "queue=mail")]


async def test_viewers_keep_views_and_producers_have_no_lists(visit: Callable[[Role], Any], store: Store) -> None:
    viewer: Visitor = await visit(Role.VIEWER)
    fields = hidden_fields((await viewer.get("/console/delayed?queue=mail")).text, "/console/views")
    await viewer.post("/console/views", fields, name="mine")
    assert await kept(store, "viewer") == [("delayed", "mine", "queue=mail")]

    producer: Visitor = await visit(Role.PRODUCER)
    assert (await producer.get("/console/views")).status_code == 403
    assert (await producer.post("/console/views", fields, name="mine")).status_code == 403


async def test_a_name_is_text_and_nothing_else(operator: Visitor, store: Store) -> None:
    await save_view(store, "operator", list_name="jobs", name="<b>&\"'", query="queue=mail")

    for path in ("/console/jobs", "/console/views"):
        page = (await operator.get(path)).text
        assert "<b>&" not in page
        assert "&lt;b&gt;&amp;&#34;&#39;" in page
