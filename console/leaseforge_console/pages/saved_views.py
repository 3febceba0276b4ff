"""Saved views of lists of jobs: kept, opened, renamed and deleted by whom they belong to."""

from datetime import UTC, datetime
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge.errors import BadInput, FieldProblem
from leaseforge.filters import checked
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_auth.saved_views import delete_view, rename_view, save_view, views_of
from leaseforge_console.console import Place
from leaseforge_console.forms import Sent
from leaseforge_console.pages.asked import asked_jobs
from leaseforge_console.paths import HOME
from leaseforge_console.views import list_tools as view
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.visit import Visit

LISTS = (Permission.JOBS_READ, Permission.DELAYED_READ, Permission.DLQ_READ)
"""Whoever may read a list of jobs may keep views of it."""


@get("/views", **permission(*LISTS))
async def show_views(visit: NamedDependency[Visit]) -> Response[str]:
    """All views somebody saved."""
    page = view.views(await views_of(visit.store, visit.user))
    place = Place("Saved views", "jobs")
    return visit.page("pages/saved_views.html", page, place, await visit.snapshot())


@post("/views", **permission(*LISTS, audit="view.save"))
async def keep_view(visit: NamedDependency[Visit]) -> Response[Any]:
    """Keeps a list's filter under a name and shows the list with it."""
    sent = await visit.sent()
    list_, asked = _list_of(sent), await _asked_of(sent)
    checked(view.wanted(list_, asked, datetime.now(UTC)))
    query = asked.query()
    path = f"{HOME}{view.PATHS[list_]}{query}"
    try:
        kept = await save_view(
            visit.store,
            visit.user,
            list_name=list_.value,
            name=sent.text("name"),
            query=query.removeprefix("?"),
        )
    except BadInput as error:
        return visit.refuse(path, f"The view was not saved. {_told(error)}")
    visit.note(list=kept.list, name=kept.name)
    return visit.go(path, f"Saved the view {kept.name}.")


@post("/views/{view_id:str}/rename", **permission(*LISTS, audit="view.rename"))
async def give_name(visit: NamedDependency[Visit], view_id: FromPath[str]) -> Response[Any]:
    """Gives a view another name."""
    sent = await visit.sent()
    try:
        name = await rename_view(visit.store, visit.user, view_id, sent.text("name"))
    except BadInput as error:
        return visit.refuse(f"{HOME}/views", f"The view keeps its name. {_told(error)}")
    return visit.go(f"{HOME}/views", f"The view is called {name} now.")


@post("/views/{view_id:str}/delete", **permission(*LISTS, audit="view.delete"))
async def forget_view(visit: NamedDependency[Visit], view_id: FromPath[str]) -> Response[Any]:
    """Forgets a view; the jobs it showed are not touched."""
    await delete_view(visit.store, visit.user, view_id)
    return visit.go(f"{HOME}/views", "Deleted the view. No job was touched.")


def _list_of(sent: Sent) -> JobList:
    try:
        return JobList(sent.text("list"))
    except ValueError as error:
        raise BadInput([FieldProblem("list", f"must be one of {', '.join(JobList)}")]) from error


async def _asked_of(sent: Sent) -> Asked:
    """The filter, checked as the list itself would."""
    names = ("queue", "group", "type", "tag", "text", "operation", "within")
    return await asked_jobs(in_state=sent.text("state"), **{name: sent.text(name) for name in names})


def _told(error: BadInput) -> str:
    return " ".join(f"Its {problem.field} {problem.message}." for problem in error.problems)
