"""Login with a password, who one is, logout."""

import time
from typing import Any

from litestar import Request, Router, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from leaseforge.errors import BadInput, FieldProblem
from leaseforge_api.bodies import JsonBody
from leaseforge_api.schemas.auth import (
    LoginAnswer,
    LoginMethods,
    LoginRequest,
    Me,
    PasswordRequest,
    SsoMethod,
    login_answer,
    user,
)
from leaseforge_api.schemas.values import instant_of
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.accounts import Accounts
from leaseforge_auth.api_tokens import ApiTokens, Shown
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.calls import Account
from leaseforge_auth.errors import NotAuthenticated
from leaseforge_auth.guards import any_identity, public
from leaseforge_auth.identity import Identity
from leaseforge_auth.oidc.settings import LOGIN_PATH
from leaseforge_auth.oidc.sso import SingleSignOn
from leaseforge_auth.roles import permissions_of
from leaseforge_auth.tokens import Claims
from leaseforge_auth.users import Users


@post(
    "/login",
    summary="Log in with a password",
    status_code=200,
    dto=JsonBody[LoginRequest],
    security=[{}],
    **public(audit="login"),
)
async def login(
    data: JSONBody[LoginRequest],
    accounts: NamedDependency[Accounts],
    tokens: NamedDependency[AccessTokens],
    client_address: NamedDependency[str],
    request: Request[Any, Any, Any],
) -> LoginAnswer:
    """Exchanges a username and its password for an access token."""
    account = await accounts.authenticate(
        data.username, data.password, address=client_address, action=action_of(request)
    )
    if account is None:
        only = (
            ""
            if accounts.password_for is None
            else "; passwords are for emergencies only here: log in by single sign-on"
        )
        raise NotAuthenticated(f"the username or the password is wrong{only}")
    return logged_in(account, tokens)


@get("/config", summary="List login methods", sync_to_thread=False, security=[{}], **public())
def login_methods(
    request: Request[Any, Any, Any], accounts: NamedDependency[Accounts], sso: NamedDependency[SingleSignOn]
) -> LoginMethods:
    """Which ways to log in are open here."""
    is_on = sso.settings.is_on
    login_url = f"{request.app.state.root_path}{LOGIN_PATH}"
    method = SsoMethod(is_on, sso.settings.provider if is_on else None, login_url if is_on else None)
    return LoginMethods(accounts.password_for is None, method)


@get("/me", summary="Show your account", sync_to_thread=False, **any_identity())
def me(request: Request[Identity, Claims | Shown, Any], identity: NamedDependency[Identity]) -> Me:
    """The account behind the token, with what it may do now."""
    shown = user(identity)
    ends_ms = request.auth.expires_at_ms
    return Me(shown.username, shown.roles, shown.permissions, None if ends_ms is None else instant_of(ends_ms / 1000))


@post(
    "/refresh",
    summary="Refresh an access token",
    status_code=200,
    **any_identity(audit="token.refresh", logged_in=True),
)
async def refresh(
    request: Request[Identity, Claims, Any],
    identity: NamedDependency[Identity],
    tokens: NamedDependency[AccessTokens],
) -> LoginAnswer:
    """Trades the token that was shown for a new one, until 7 days after its login; the old one ends."""
    return login_answer(await tokens.refresh(request.auth, now_s=time.time()), identity)


@post(
    "/password",
    summary="Change your password",
    status_code=200,
    dto=JsonBody[PasswordRequest],
    **any_identity(audit="password.change", logged_in=True),
)
async def change_password(
    data: JSONBody[PasswordRequest],
    request: Request[Identity, Any, Any],
    identity: NamedDependency[Identity],
    accounts: NamedDependency[Accounts],
    users: NamedDependency[Users],
    tokens: NamedDependency[AccessTokens],
    client_address: NamedDependency[str],
) -> LoginAnswer:
    """Changes one's own password; everything handed out before ends, and this answers with a new token."""
    account = await accounts.authenticate(
        identity.username, data.current, address=client_address, action=action_of(request)
    )
    if account is None:
        raise BadInput([FieldProblem("current", "is not your password")])
    return logged_in(await users.set_own_password(account, data.new), tokens)


@post("/logout", summary="Log out", status_code=204, **any_identity(audit="logout"))
async def logout(
    request: Request[Identity, Claims | Shown, Any],
    tokens: NamedDependency[AccessTokens],
    api_tokens: NamedDependency[ApiTokens],
) -> None:
    """Ends the token that was shown, whichever kind it is."""
    if isinstance(request.auth, Shown):
        await api_tokens.revoke(request.auth.id, owner=None)
    else:
        await tokens.revoke(request.auth, now_s=time.time())


def logged_in(account: Account, tokens: AccessTokens) -> LoginAnswer:
    """Hands an access token out to somebody who has shown who they are."""
    identity = Identity(account.username, account.roles, permissions_of(account.roles), "token")
    return login_answer(tokens.issue(account), identity)


router = Router("/auth", route_handlers=[login, login_methods, me, refresh, change_password, logout], tags=["auth"])
