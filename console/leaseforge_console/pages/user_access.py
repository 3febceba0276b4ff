"""What ends an account's way in, each asked for first: disable, new password, log out everywhere, delete."""

from dataclasses import replace
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge.store import Store
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import LastAdministrator
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_auth.users import Users, generated_password
from leaseforge_console import htmx
from leaseforge_console.console import Console, ConsoleRequest, Place
from leaseforge_console.forms import sent_by
from leaseforge_console.live import read_snapshot
from leaseforge_console.views import users as view
from leaseforge_console.views.frame import Flash

_LAST = "This is the last enabled administrator: make another one first."


@get("/users/{username:str}/disable", **permission(Permission.USERS_WRITE))
async def confirm_disable(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[str]:
    """Says what disabling means."""
    return await _ask(request, console, store, users, view.ask_disable((await users.show(username)).username))


@post("/users/{username:str}/disable", **permission(Permission.USERS_WRITE, audit="user.change"))
async def disable_user(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[Any]:
    """Keeps an account out; its sessions and access tokens end at once."""
    before = await users.show(username)
    try:
        await users.change(username, disabled=True, expected_epoch=(await sent_by(request)).epoch())
    except LastAdministrator:
        return await _ask(request, console, store, users, view.ask_disable(username, _LAST), status=409)
    action_of(request).note(before={"disabled": before.is_disabled}, after={"disabled": True})
    return console.go(request, f"/console/users/{username}", Flash("good", f"Disabled {username}."))


@get("/users/{username:str}/password", **permission(Permission.USERS_WRITE))
async def confirm_password(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[str]:
    """Says what a new password ends."""
    return await _ask(request, console, store, users, view.ask_password((await users.show(username)).username))


@post("/users/{username:str}/password", **permission(Permission.USERS_WRITE, audit="user.change"))
async def make_password(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[str]:
    """Generates a password and shows it, in this answer and never again."""
    password = generated_password()
    await users.change(username, password=password, expected_epoch=(await sent_by(request)).epoch())
    action_of(request).note(new_password=True)
    page, place = view.PasswordMade(username, password, is_new=False), Place(username, "users")
    return console.page(request, "pages/users/password.html", page, place, snapshot=await read_snapshot(store))


@get("/users/{username:str}/logout", **permission(Permission.USERS_WRITE))
async def confirm_logout(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[str]:
    """Says what would end."""
    return await _ask(request, console, store, users, view.ask_logout((await users.show(username)).username))


@post("/users/{username:str}/logout", **permission(Permission.USERS_WRITE, audit="user.logout"))
async def log_out_everywhere(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[Any]:
    """Ends all sessions, access tokens and personal API tokens of an account."""
    known, form = (await users.show(username)).username, await sent_by(request)
    await users.log_out_everywhere(known, expected_epoch=form.epoch())
    told = Flash("good", f"Logged {username} out everywhere.")
    return console.go(request, f"/console/users/{username}", told)


@get("/users/{username:str}/delete", **permission(Permission.USERS_WRITE))
async def confirm_delete(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[str]:
    """Says what would be gone, and asks for the name."""
    return await _ask(request, console, store, users, view.ask_delete((await users.show(username)).username))


@post("/users/{username:str}/delete", **permission(Permission.USERS_WRITE, audit="user.delete"))
async def delete_user(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[Any]:
    """Removes an account once its name was typed."""
    known = (await users.show(username)).username
    if (await sent_by(request)).text("word").strip() != known:
        again = view.ask_delete(known, f"Type {known} to confirm.")
        return await _ask(request, console, store, users, again, status=422)
    try:
        await users.delete(known)
    except LastAdministrator:
        return await _ask(request, console, store, users, view.ask_delete(known, _LAST), status=409)
    return console.go(request, "/console/users", Flash("good", f"Deleted {known}."))


async def _ask(
    request: ConsoleRequest, console: Console, store: Store, users: Users, page: view.Confirmation, *, status: int = 200
) -> Response[str]:
    """The confirmation; asked again in its place when something was wrong with it."""
    page = replace(page, epoch=(await users.show(page.username)).epoch)
    place, snapshot = Place(page.title, "users"), await read_snapshot(store)
    answer = console.page(request, "pages/users/confirm.html", page, place, snapshot=snapshot, status=status)
    if page.problem:
        answer.headers.update(htmx.ask_again_headers())
    return answer
