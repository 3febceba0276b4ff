"""Accounts: who may log in, and as what."""

from collections.abc import Sequence
from typing import Any

from litestar import Request, Response, Router, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import UNSET

from leaseforge.errors import BadInput, FieldProblem
from leaseforge_api.bodies import JsonBody
from leaseforge_api.schemas.pages import Asked, Listed
from leaseforge_api.schemas.users import Account, Session, UserChangeRequest, UserRequest, account, session
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.guards import permission
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role, permissions_of
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.users import Users

ByWriters = Request[Identity, Any, Any]


@get("/", summary="List users", **permission(Permission.USERS_READ))
async def index(users: NamedDependency[Users], page: NamedDependency[Asked]) -> Listed[Account]:
    """All accounts by name."""
    found, total = await users.listed(offset=page.offset, limit=page.limit)
    return page.listed([account(info) for info in found], total)


@post(
    "/", summary="Create a user", dto=JsonBody[UserRequest], **permission(Permission.USERS_WRITE, audit="user.create")
)
async def create(data: JSONBody[UserRequest], request: ByWriters, users: NamedDependency[Users]) -> Response[Account]:
    """Makes an account: 201."""
    action_of(request).note(username=data.username, roles=[*data.roles])
    _must_reach(request.user, data.roles)
    await users.create(data.username, roles=data.roles, password=data.password, origin="api")
    location = f"{request.app.state.root_path}/api/users/{data.username}"
    return Response(account(await users.show(data.username)), status_code=201, headers={"Location": location})


@get("/{username:str}", summary="Show a user", **permission(Permission.USERS_READ))
async def show(username: FromPath[str], users: NamedDependency[Users]) -> Account:
    """One account."""
    return account(await users.show(username))


@patch(
    "/{username:str}",
    summary="Change a user",
    dto=JsonBody[UserChangeRequest],
    **permission(Permission.USERS_WRITE, audit="user.change"),
)
async def change(
    username: FromPath[str], data: JSONBody[UserChangeRequest], request: ByWriters, users: NamedDependency[Users]
) -> Account:
    """Changes roles, password, or whether the account is disabled; its sessions and access tokens end at once."""
    if data.roles is UNSET and data.disabled is UNSET and data.password is UNSET:
        raise BadInput([FieldProblem("", "say what to change: roles, disabled, or password")])
    known = await users.show(username)
    before = account(known)
    _must_reach(request.user, [*known.roles, *([] if data.roles is UNSET else data.roles)])
    await users.change(
        username,
        roles=None if data.roles is UNSET else data.roles,
        disabled=None if data.disabled is UNSET else data.disabled,
        password=None if data.password is UNSET else data.password,
    )
    after = account(await users.show(username))
    action_of(request).note(
        before={"roles": before.roles, "disabled": before.disabled},
        after={"roles": after.roles, "disabled": after.disabled},
        new_password=data.password is not UNSET,
    )
    return after


@delete("/{username:str}", summary="Delete a user", **permission(Permission.USERS_WRITE, audit="user.delete"))
async def remove(username: FromPath[str], identity: NamedDependency[Identity], users: NamedDependency[Users]) -> None:
    """Removes an account with its sessions, access tokens and personal API tokens."""
    _must_reach(identity, (await users.show(username)).roles)
    await users.delete(username)


@post(
    "/{username:str}/logout",
    summary="Log a user out everywhere",
    status_code=204,
    **permission(Permission.USERS_WRITE, audit="user.logout"),
)
async def log_out_everywhere(username: FromPath[str], users: NamedDependency[Users]) -> None:
    """Ends all sessions, access tokens and personal API tokens of an account at once."""
    await users.log_out_everywhere(username)


@get("/{username:str}/sessions", summary="List a user's sessions", **permission(Permission.USERS_READ))
async def sessions_of(
    username: FromPath[str], users: NamedDependency[Users], sessions: NamedDependency[Sessions]
) -> list[Session]:
    """The browser sessions of an account, newest first; 50 at most."""
    info = await users.show(username)
    return [session(one) for one in await sessions.listed(info.username)]


@delete(
    "/{username:str}/sessions/{session_id:str}",
    summary="End a user's session",
    **permission(Permission.USERS_WRITE, audit="session.revoke"),
)
async def revoke_session(
    username: FromPath[str],
    session_id: FromPath[str],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
) -> None:
    """Ends one session of an account at once."""
    info = await users.show(username)
    await sessions.revoke(info.username, session_id)


def _must_reach(identity: Identity, roles: Sequence[Role]) -> None:
    """Nobody makes, changes or removes an account that may do more than they may: it would be a way up."""
    if beyond := permissions_of(roles) - identity.permissions:
        raise NotPermitted(", ".join(sorted(beyond)))


router = Router(
    "/users",
    route_handlers=[index, create, show, change, remove, log_out_everywhere, sessions_of, revoke_session],
    tags=["users"],
)
