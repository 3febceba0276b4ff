"""Saved views of lists of jobs: kept, opened, renamed and deleted by whom they belong to."""

from datetime import UTC, datetime
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge.errors import BadInput, FieldProblem
from leaseforge.filters import checked
from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_auth.saved_views import delete_view, rename_view, save_view, views_of
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.forms import Sent, sent_by
from leaseforge_console.live import read_snapshot
from leaseforge_console.pages.asked import asked_jobs
from leaseforge_console.paths import HOME
from leaseforge_console.views import list_tools as view
from leaseforge_console.views.asked import Asked
from leaseforge_console.views.chosen import JobList
from leaseforge_console.views.frame import Flash

LISTS = (Permission.JOBS_READ, Permission.DELAYED_READ, Permission.DLQ_READ)
"""Whoever may read a list of jobs may keep views of it."""


async def list_tools(request: ConsoleRequest, store: Store, list_: JobList, asked: Asked) -> view.ListTools:
    """What stands above a list, with the views of whoever looks at it."""
    return view.tools(list_, asked, await views_of(store, identity_of(request).username))


@get("/views", **permission(*LISTS))
async def show_views(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store]
) -> Response[str]:
    """All views somebody saved."""
    page = view.views(await views_of(store, identity_of(request).username))
    place = Place("Saved views", "jobs")
    return console.page(request, "pages/saved_views.html", page, place, snapshot=await read_snapshot(store))


@post("/views", **permission(*LISTS, audit="view.save"))
async def keep_view(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store]
) -> Response[Any]:
    """Keeps a list's filter under a name and shows the list with it."""
    sent = await sent_by(request)
    list_, asked = _list_of(sent), await _asked_of(sent)
    checked(view.wanted(list_, asked, datetime.now(UTC)))
    query = asked.query()
    path = f"{HOME}{view.PATHS[list_]}{query}"
    try:
        kept = await save_view(
            store,
            identity_of(request).username,
            list_name=list_.value,
            name=sent.text("name"),
            query=query.removeprefix("?"),
        )
    except BadInput as error:
        return console.go(request, path, Flash("bad", f"The view was not saved. {_told(error)}"))
    action_of(request).note(list=kept.list, name=kept.name)
    return console.go(request, path, Flash("good", f"Saved the view {kept.name}."))


@post("/views/{view_id:str}/rename", **permission(*LISTS, audit="view.rename"))
async def give_name(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], view_id: FromPath[str]
) -> Response[Any]:
    """Gives a view another name."""
    sent = await sent_by(request)
    try:
        name = await rename_view(store, identity_of(request).username, view_id, sent.text("name"))
    except BadInput as error:
        return console.go(request, f"{HOME}/views", Flash("bad", f"The view keeps its name. {_told(error)}"))
    return console.go(request, f"{HOME}/views", Flash("good", f"The view is called {name} now."))


@post("/views/{view_id:str}/delete", **permission(*LISTS, audit="view.delete"))
async def forget_view(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store], view_id: FromPath[str]
) -> Response[Any]:
    """Forgets a view; the jobs it showed are not touched."""
    await delete_view(store, identity_of(request).username, view_id)
    return console.go(request, f"{HOME}/views", Flash("good", "Deleted the view. No job was touched."))


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
