"""Login through the provider of single sign-on: there, back, and (for other programs) a code for a token.

The two addresses a browser visits answer with a redirect; a refusal is a page for people and a problem for programs.
"""

from typing import Annotated, Any, Final, Literal

from litestar import Request, Router, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, QueryParameter
from litestar.response import Redirect

from leaseforge_api.bodies import JsonBody
from leaseforge_api.routes.auth import logged_in
from leaseforge_api.schemas.auth import ExchangeRequest, LoginAnswer
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.guards import public
from leaseforge_auth.oidc.errors import SsoLost
from leaseforge_auth.oidc.settings import CALLBACK_PATH, LOGIN_PATH
from leaseforge_auth.oidc.sso import SingleSignOn
from leaseforge_auth.sessions import Sessions

SEE_OTHER: Final = 303


@get("/login", summary="Start single sign-on", status_code=SEE_OTHER, security=[{}], **public())
async def start(
    request: Request[Any, Any, Any],
    sso: NamedDependency[SingleSignOn],
    client_address: NamedDependency[str],
    return_to: Annotated[str | None, QueryParameter(name="return_to")] = None,
    prompt: Annotated[Literal["login"] | None, QueryParameter(name="prompt")] = None,
) -> Redirect:
    """Leads the browser to the provider; afterwards to `return_to`: a console page, or an allowed origin's address.

    With `prompt=login` the provider asks who it is even if it knows the browser.
    """
    browser = request.cookies.get(sso.cookie.name)
    started = await sso.start(return_to, browser=browser, address=client_address, anew=prompt is not None)
    return Redirect(started.url, status_code=SEE_OTHER, cookies=[started.cookie])


@get(
    "/callback",
    summary="Finish single sign-on",
    status_code=SEE_OTHER,
    security=[{}],
    **public(audit="login.sso"),
)
async def finish(
    request: Request[Any, Any, Any],
    sso: NamedDependency[SingleSignOn],
    sessions: NamedDependency[Sessions],
    client_address: NamedDependency[str],
) -> Redirect:
    """Where the provider sends the browser back to: opens a session, or goes on with a one-time `code`."""
    query = {name: request.query_params.getall(name) for name in request.query_params}
    browser = request.cookies.get(sso.cookie.name)
    done = await sso.finish(query, browser=browser, address=client_address, action=action_of(request))
    if not done.is_local:
        return Redirect(done.address, status_code=SEE_OTHER)
    agent = request.headers.get("user-agent", "")
    session = await sessions.create(done.account, address=client_address, agent=agent)
    if session is None:
        raise SsoLost("account_changed", "the account was changed in this very moment")
    return Redirect(done.address, status_code=SEE_OTHER, cookies=[sessions.cookie.holding(session.id)])


@post(
    "/exchange",
    summary="Exchange a login code for a token",
    status_code=200,
    dto=JsonBody[ExchangeRequest],
    security=[{}],
    **public(audit="login.sso"),
)
async def exchange(
    data: JSONBody[ExchangeRequest],
    request: Request[Any, Any, Any],
    sso: NamedDependency[SingleSignOn],
    tokens: NamedDependency[AccessTokens],
) -> LoginAnswer:
    """Exchanges the one-time code of a login for an access token, once and within a minute."""
    return logged_in(await sso.exchange(data.code, action=action_of(request)), tokens)


def is_for_people(request: Request[Any, Any, Any]) -> bool:
    """Whether a browser shows the answer to somebody: then an error is a page."""
    path = request.scope["path"].rstrip("/")
    return path in (LOGIN_PATH, CALLBACK_PATH) and "text/html" in request.headers.get("accept", "")


router = Router("/auth/oidc", route_handlers=[start, finish, exchange], tags=["auth"])
