"""Logging in and out."""

from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter
from litestar.response import Redirect

from leaseforge_auth.accounts import Accounts
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.calls import Account
from leaseforge_auth.errors import TryAgainLater
from leaseforge_auth.guards import any_identity, public
from leaseforge_auth.sessions import NewSession, Sessions
from leaseforge_console import htmx
from leaseforge_console.console import Console, ConsoleRequest
from leaseforge_console.filters import span
from leaseforge_console.paths import HOME, local_path, login_path

_WRONG = "The name or the password is not right."
_NEEDS_HTTPS = (
    "The console needs https here: a session could be read on the way. "
    "Put a TLS proxy in front, or open the console on the machine itself."
)


@dataclass(frozen=True, slots=True)
class LoginPage:
    """The page: what was typed, where it leads, and what went wrong."""

    username: str
    next: str
    problem: str | None
    usable: bool = True


@dataclass(frozen=True, slots=True)
class LoginSent:
    """The filled-in form."""

    username: str
    password: str
    next: str = HOME


@get("/login", **public())
async def show_login(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    sessions: NamedDependency[Sessions],
    next_page: Annotated[str, QueryParameter(name="next")] = HOME,
) -> Response[Any]:
    """The form; somebody who is logged in already is led on."""
    back = local_path(next_page) or HOME
    if not sessions.cookie.may_travel_to(request.headers.get("host")):
        return console.lone(request, "pages/login.html", LoginPage("", back, _NEEDS_HTTPS, usable=False), status=400)
    session_id = request.cookies.get(sessions.cookie.name, "")
    if session_id and await sessions.read(session_id):
        return Redirect(console.settings.root_path + back, status_code=htmx.SEE_OTHER)
    return console.lone(request, "pages/login.html", LoginPage("", back, None))


@post("/login", **public(audit="login", audit_by_route=True))
async def log_in(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    accounts: NamedDependency[Accounts],
    sessions: NamedDependency[Sessions],
    client_address: NamedDependency[str],
    data: Annotated[LoginSent, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Opens a session with a new id, or says that name or password is wrong, never which."""
    back = local_path(data.next) or HOME
    try:
        account = await accounts.authenticate(
            data.username.strip(), data.password, address=client_address, action=action_of(request)
        )
    except TryAgainLater as error:
        told = f"{str(error).capitalize()}. Try again in {span(error.retry_after_s)}."
        page = LoginPage(data.username, back, told)
        return console.lone(request, "pages/login.html", page, status=429)
    session = await _open(request, sessions, account, client_address) if account else None
    if session is None:
        return console.lone(request, "pages/login.html", LoginPage(data.username, back, _WRONG), status=401)
    cookies = [sessions.cookie.holding(session.id)]
    return Redirect(console.settings.root_path + back, status_code=htmx.SEE_OTHER, cookies=cookies)


async def _open(request: ConsoleRequest, sessions: Sessions, account: Account, address: str) -> NewSession | None:
    return await sessions.create(account, address=address, agent=request.headers.get("user-agent", ""))


@post("/logout", **any_identity(audit="logout"))
async def log_out(
    request: ConsoleRequest, console: NamedDependency[Console], sessions: NamedDependency[Sessions]
) -> Response[Any]:
    """Ends the session on the server and makes the browser forget it."""
    await sessions.destroy(request.auth)
    target = console.settings.root_path + login_path(None)
    return Redirect(target, status_code=htmx.SEE_OTHER, cookies=[sessions.cookie.removed()])
