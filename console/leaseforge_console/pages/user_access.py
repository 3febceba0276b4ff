"""What ends an account's way in, each asked for first: disable, new password, log out everywhere, delete."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge_auth.errors import LastAdministrator
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_auth.users import Users, generated_password
from leaseforge_console.console import Place
from leaseforge_console.views import users as view
from leaseforge_console.visit import Visit

_LAST = "This is the last enabled administrator: make another one first."


@get("/users/{username:str}/disable", **permission(Permission.USERS_WRITE))
async def confirm_disable(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[str]:
    """Says what disabling means."""
    return await _ask(visit, users, username, view.ask_disable)


@post("/users/{username:str}/disable", **permission(Permission.USERS_WRITE, audit="user.change"))
async def disable_user(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[Any]:
    """Keeps an account out; its sessions and access tokens end at once."""
    before = await users.show(username)
    try:
        await users.change(username, disabled=True, expected_epoch=(await visit.sent()).epoch())
    except LastAdministrator:
        return await _ask(visit, users, username, view.ask_disable, problem=_LAST, status=409)
    visit.note(before={"disabled": before.is_disabled}, after={"disabled": True})
    return visit.go(f"/console/users/{username}", f"Disabled {username}.")


@get("/users/{username:str}/password", **permission(Permission.USERS_WRITE))
async def confirm_password(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[str]:
    """Says what a new password ends."""
    return await _ask(visit, users, username, view.ask_password)


@post("/users/{username:str}/password", **permission(Permission.USERS_WRITE, audit="user.change"))
async def make_password(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[str]:
    """Generates a password and shows it, in this answer and never again."""
    password = generated_password()
    await users.change(username, password=password, expected_epoch=(await visit.sent()).epoch())
    visit.note(new_password=True)
    page, place = view.PasswordMade(username, password, is_new=False), Place(username, "users")
    return visit.page("pages/users/password.html", page, place, await visit.snapshot())


@get("/users/{username:str}/logout", **permission(Permission.USERS_WRITE))
async def confirm_logout(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[str]:
    """Says what would end."""
    return await _ask(visit, users, username, view.ask_logout)


@post("/users/{username:str}/logout", **permission(Permission.USERS_WRITE, audit="user.logout"))
async def log_out_everywhere(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[Any]:
    """Ends all sessions, access tokens and personal API tokens of an account."""
    known, form = (await users.show(username)).username, await visit.sent()
    await users.log_out_everywhere(known, expected_epoch=form.epoch())
    return visit.go(f"/console/users/{username}", f"Logged {username} out everywhere.")


@get("/users/{username:str}/delete", **permission(Permission.USERS_WRITE))
async def confirm_delete(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[str]:
    """Says what would be gone, and asks for the name."""
    return await _ask(visit, users, username, view.ask_delete)


@post("/users/{username:str}/delete", **permission(Permission.USERS_WRITE, audit="user.delete"))
async def delete_user(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[Any]:
    """Removes an account once its name was typed."""
    known = (await users.show(username)).username
    if (await visit.sent()).text("word").strip() != known:
        told = f"Type {known} to confirm."
        return await _ask(visit, users, known, view.ask_delete, problem=told, status=422)
    try:
        await users.delete(known)
    except LastAdministrator:
        return await _ask(visit, users, known, view.ask_delete, problem=_LAST, status=409)
    return visit.go("/console/users", f"Deleted {known}.")


async def _ask(
    visit: Visit,
    users: Users,
    username: str,
    question: Callable[[str], view.Confirmation],
    *,
    problem: str = "",
    status: int = 200,
) -> Response[str]:
    """The confirmation; asked again in its place when something was wrong with it."""
    info = await users.show(username)
    page = replace(question(info.username), epoch=info.epoch, problem=problem)
    place, snapshot = Place(page.title, "users"), await visit.snapshot()
    return visit.question("pages/users/confirm.html", page, place, snapshot, status=status)
