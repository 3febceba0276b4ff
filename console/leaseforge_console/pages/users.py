"""The Users page, one user's page, and changes that leave the account in place."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from leaseforge import limits
from leaseforge.errors import BadInput
from leaseforge.store import Store
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import LastAdministrator, UsernameTaken
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.users import Users, generated_password
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.forms import by_field, sent_by
from leaseforge_console.live import read_snapshot
from leaseforge_console.views import users as view
from leaseforge_console.views.frame import Flash

PLACE = Place("Users", "users")
NEW = Place("New user", "users")


@get("/users", **permission(Permission.USERS_READ))
async def show_users(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    offset: FromQuery[int] = 0,
) -> Response[str]:
    """All accounts by name."""
    offset = min(max(offset, 0), limits.MAX_OFFSET)
    found, total = await users.listed(offset=offset, limit=view.PAGE_SIZE)
    page = view.users_page(found, total, offset=offset)
    return console.page(request, "pages/users/index.html", page, PLACE, snapshot=await read_snapshot(store))


@get("/new-user", **permission(Permission.USERS_WRITE))
async def ask_for_user(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store]
) -> Response[str]:
    """The form. Its address is no user's: any word below /users could be a name."""
    page = view.new_user()
    return console.page(request, "pages/users/new.html", page, NEW, snapshot=await read_snapshot(store))


@post("/new-user", **permission(Permission.USERS_WRITE, audit="user.create"))
async def make_user(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
) -> Response[str]:
    """Makes an account with a generated password and shows it, in this answer and never again."""
    form = await sent_by(request)
    username, roles = form.text("username").strip(), form.ticked("roles", Role)
    password = generated_password()
    action_of(request).note(username=username, roles=[*roles])
    problems: dict[str, str] = {}
    status = 422
    try:
        await users.create(username, roles=roles, password=password, origin="api")
    except BadInput as error:
        problems = by_field(error)
    except UsernameTaken as error:
        problems, status = {"username": f"{str(error).capitalize()}."}, 409
    snapshot = await read_snapshot(store)
    if problems:
        again = view.new_user(username, roles, problems)
        return console.page(request, "pages/users/new.html", again, NEW, snapshot=snapshot, status=status)
    page = view.PasswordMade(username, password, is_new=True)
    return console.page(request, "pages/users/password.html", page, NEW, snapshot=snapshot, status=201)


@get("/users/{username:str}", **permission(Permission.USERS_READ))
async def show_user(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    api_tokens: NamedDependency[ApiTokens],
    username: FromPath[str],
) -> Response[str]:
    """One account with its sessions and tokens."""
    return await _show(request, console, store, users, sessions, api_tokens, username)


@post("/users/{username:str}/roles", **permission(Permission.USERS_WRITE, audit="user.change"))
async def change_roles(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    api_tokens: NamedDependency[ApiTokens],
    username: FromPath[str],
) -> Response[Any]:
    """Gives an account other roles; its sessions and access tokens end at once."""
    form = await sent_by(request)
    roles = form.ticked("roles", Role)
    before = (await users.show(username)).roles
    try:
        await users.change(username, roles=roles, expected_epoch=form.epoch())
    except LastAdministrator as error:
        problem = f"{str(error)[:1].upper()}{str(error)[1:]}."
        return await _show(request, console, store, users, sessions, api_tokens, username, problem=problem)
    action_of(request).note(before={"roles": [*before]}, after={"roles": [*roles]})
    now = ", ".join(roles) or "no role"
    told = Flash("good", f"{username} is {now} now, and has to log in again.")
    return console.go(request, f"/console/users/{username}", told)


@post("/users/{username:str}/enable", **permission(Permission.USERS_WRITE, audit="user.change"))
async def enable_user(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    users: NamedDependency[Users],
    username: FromPath[str],
) -> Response[Any]:
    """Lets a disabled account in again."""
    before = await users.show(username)
    await users.change(username, disabled=False, expected_epoch=(await sent_by(request)).epoch())
    action_of(request).note(before={"disabled": before.is_disabled}, after={"disabled": False})
    return console.go(request, f"/console/users/{username}", Flash("good", f"Enabled {username}."))


@post(
    "/users/{username:str}/sessions/{session_id:str}/end", **permission(Permission.USERS_WRITE, audit="session.revoke")
)
async def end_session(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    username: FromPath[str],
    session_id: FromPath[str],
) -> Response[Any]:
    """Ends one session of an account at once."""
    info = await users.show(username)
    await sessions.revoke(info.username, session_id)
    told = Flash("good", f"Ended the session: that browser of {username} has to log in again.")
    return console.go(request, f"/console/users/{username}", told)


async def _show(
    request: ConsoleRequest,
    console: Console,
    store: Store,
    users: Users,
    sessions: Sessions,
    api_tokens: ApiTokens,
    username: str,
    *,
    problem: str = "",
) -> Response[str]:
    identity = identity_of(request)
    info = await users.show(username)
    tokens = (await api_tokens.listed(username, offset=0))[0] if identity.can(Permission.TOKENS_READ) else ()
    page = view.user_page(
        info,
        await sessions.listed(username),
        tokens,
        identity,
        this_session=sessions.public_id(request.auth),
        problem=problem,
    )
    place, snapshot = Place(username, "users"), await read_snapshot(store)
    status = 409 if problem else 200
    return console.page(request, "pages/users/show.html", page, place, snapshot=snapshot, status=status)
