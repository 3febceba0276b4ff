"""The Users page, one user's page, and changes that leave the account in place."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from leaseforge import limits
from leaseforge.errors import BadInput
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.errors import LastAdministrator, UsernameTaken
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.users import Users, generated_password
from leaseforge_console.console import Place
from leaseforge_console.forms import by_field
from leaseforge_console.views import users as view
from leaseforge_console.visit import Visit

PLACE = Place("Users", "users")
NEW = Place("New user", "users")


@get("/users", **permission(Permission.USERS_READ))
async def show_users(
    visit: NamedDependency[Visit], users: NamedDependency[Users], offset: FromQuery[int] = 0
) -> Response[str]:
    """All accounts by name."""
    offset = min(max(offset, 0), limits.MAX_OFFSET)
    found, total = await users.listed(offset=offset, limit=view.PAGE_SIZE)
    page = view.users_page(found, total, offset=offset)
    return visit.page("pages/users/index.html", page, PLACE, await visit.snapshot())


@get("/new-user", **permission(Permission.USERS_WRITE))
async def ask_for_user(visit: NamedDependency[Visit]) -> Response[str]:
    """The form. Its address is no user's: any word below /users could be a name."""
    page = view.new_user()
    return visit.page("pages/users/new.html", page, NEW, await visit.snapshot())


@post("/new-user", **permission(Permission.USERS_WRITE, audit="user.create"))
async def make_user(visit: NamedDependency[Visit], users: NamedDependency[Users]) -> Response[str]:
    """Makes an account with a generated password and shows it, in this answer and never again."""
    form = await visit.sent()
    username, roles = form.text("username").strip(), form.ticked("roles", Role)
    password = generated_password()
    visit.note(username=username, roles=[*roles])
    problems: dict[str, str] = {}
    status = 422
    try:
        await users.create(username, roles=roles, password=password, origin="api")
    except BadInput as error:
        problems = by_field(error)
    except UsernameTaken as error:
        problems, status = {"username": f"{str(error).capitalize()}."}, 409
    snapshot = await visit.snapshot()
    if problems:
        again = view.new_user(username, roles, problems)
        return visit.page("pages/users/new.html", again, NEW, snapshot, status=status)
    page = view.PasswordMade(username, password, is_new=True)
    return visit.page("pages/users/password.html", page, NEW, snapshot, status=201)


@get("/users/{username:str}", **permission(Permission.USERS_READ))
async def show_user(
    visit: NamedDependency[Visit],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    api_tokens: NamedDependency[ApiTokens],
    username: FromPath[str],
) -> Response[str]:
    """One account with its sessions and tokens."""
    return await _show(visit, users, sessions, api_tokens, username)


@post("/users/{username:str}/roles", **permission(Permission.USERS_WRITE, audit="user.change"))
async def change_roles(
    visit: NamedDependency[Visit],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    api_tokens: NamedDependency[ApiTokens],
    username: FromPath[str],
) -> Response[Any]:
    """Gives an account other roles; its sessions and access tokens end at once."""
    form = await visit.sent()
    roles = form.ticked("roles", Role)
    before = (await users.show(username)).roles
    try:
        await users.change(username, roles=roles, expected_epoch=form.epoch())
    except LastAdministrator as error:
        problem = f"{str(error)[:1].upper()}{str(error)[1:]}."
        return await _show(visit, users, sessions, api_tokens, username, problem=problem)
    visit.note(before={"roles": [*before]}, after={"roles": [*roles]})
    now = ", ".join(roles) or "no role"
    told = f"{username} is {now} now, and has to log in again."
    return visit.go(f"/console/users/{username}", told)


@post("/users/{username:str}/enable", **permission(Permission.USERS_WRITE, audit="user.change"))
async def enable_user(
    visit: NamedDependency[Visit], users: NamedDependency[Users], username: FromPath[str]
) -> Response[Any]:
    """Lets a disabled account in again."""
    before = await users.show(username)
    await users.change(username, disabled=False, expected_epoch=(await visit.sent()).epoch())
    visit.note(before={"disabled": before.is_disabled}, after={"disabled": False})
    return visit.go(f"/console/users/{username}", f"Enabled {username}.")


@post(
    "/users/{username:str}/sessions/{session_id:str}/end", **permission(Permission.USERS_WRITE, audit="session.revoke")
)
async def end_session(
    visit: NamedDependency[Visit],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    username: FromPath[str],
    session_id: FromPath[str],
) -> Response[Any]:
    """Ends one session of an account at once."""
    info = await users.show(username)
    await sessions.revoke(info.username, session_id)
    told = f"Ended the session: that browser of {username} has to log in again."
    return visit.go(f"/console/users/{username}", told)


async def _show(
    visit: Visit, users: Users, sessions: Sessions, api_tokens: ApiTokens, username: str, *, problem: str = ""
) -> Response[str]:
    identity = visit.identity
    info = await users.show(username)
    tokens = (await api_tokens.listed(username, offset=0))[0] if identity.can(Permission.TOKENS_READ) else ()
    page = view.user_page(
        info,
        await sessions.listed(username),
        tokens,
        identity,
        this_session=sessions.public_id(visit.request.auth),
        problem=problem,
    )
    place, snapshot = Place(username, "users"), await visit.snapshot()
    status = 409 if problem else 200
    return visit.page("pages/users/show.html", page, place, snapshot, status=status)
