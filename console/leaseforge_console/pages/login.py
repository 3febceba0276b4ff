"""Logging in and out."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter
from litestar.response import Redirect

from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.accounts import Accounts
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.calls import Account
from leaseforge_auth.errors import TryAgainLater
from leaseforge_auth.guards import any_identity, public
from leaseforge_auth.oidc.settings import LOGIN_PATH
from leaseforge_auth.oidc.sso import SingleSignOn
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import permissions_of
from leaseforge_auth.sessions import NewSession, Sessions
from leaseforge_console import htmx
from leaseforge_console.console import Console, ConsoleRequest
from leaseforge_console.filters import span
from leaseforge_console.forms import FromForm
from leaseforge_console.paths import ACCOUNT, HOME, local_path, login_path
from leaseforge_console.views.frame import Flash

_WRONG = "The name or the password is not right."
_ONLY_EMERGENCIES = "Passwords are for a few emergency accounts only; everybody else logs in by single sign-on."
_UNDONE = "Your session had ended before the last action arrived: nothing was done. Repeat it if you still want it."
_NEEDS_HTTPS = (
    "The console needs https here: a session could be read on the way. "
    "Put a TLS proxy in front, or open the console on the machine itself."
)


@dataclass(frozen=True, slots=True)
class LoginPage:
    """The page: what was typed, where it leads, what went wrong, and the ways to log in.

    `provider` and `sso_path` are '' without single sign-on. `password_url` leads to the form where only a few accounts
    have a password; '' where the form is there already, or nobody has one. `undone`: the session had ended before the
    last action arrived.
    """

    username: str
    next: str
    problem: str | None
    usable: bool = True
    provider: str = ""
    sso_path: str = ""
    has_form: bool = True
    password_url: str = ""
    note: str = ""
    undone: bool = False


@dataclass(frozen=True, slots=True)
class LoggedOutPage:
    """The page that leads on to the provider's own logout."""

    provider: str
    url: str


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways to log in that an installation has."""

    accounts: Accounts
    sso: SingleSignOn

    def page(self, username: str, back: str, problem: str | None, *, wants_form: bool) -> LoginPage:
        """The page with the ways that are open; `wants_form` asks for a form that is not for everybody."""
        settings = self.sso.settings
        few = self.accounts.password_for
        has_form = few is None or (bool(few) and wants_form)
        return LoginPage(
            username,
            back,
            problem,
            provider=settings.provider,
            sso_path=f"{LOGIN_PATH}?return_to={quote(back, safe='/')}" if settings.is_on else "",
            has_form=has_form,
            password_url=f"/login?password=1&next={quote(back, safe='/')}" if few and not has_form else "",
            note=_ONLY_EMERGENCIES if few and has_form else "",
        )


@dataclass(frozen=True, slots=True)
class LoginSent:
    """The filled-in form."""

    username: str
    password: str
    next: str = HOME
    undone: str = ""


@get("/login", **public())
async def show_login(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    sessions: NamedDependency[Sessions],
    accounts: NamedDependency[Accounts],
    sso: NamedDependency[SingleSignOn],
    next_page: Annotated[str, QueryParameter(name="next")] = HOME,
    password: FromQuery[str] = "",
    undone: FromQuery[str] = "",
) -> Response[Any]:
    """The form; somebody who is logged in already is led on."""
    back = local_path(next_page) or HOME
    if not sessions.cookie.may_travel_to(request.headers.get("host")):
        return console.lone(request, "pages/login.html", LoginPage("", back, _NEEDS_HTTPS, usable=False), status=400)
    session_id = request.cookies.get(sessions.cookie.name, "")
    if session_id and await sessions.read(session_id):
        return Redirect(console.settings.root_path + back, status_code=htmx.SEE_OTHER)
    ways = Ways(accounts, sso)
    page = ways.page("", back, None, wants_form=bool(password))
    return console.lone(request, "pages/login.html", replace(page, undone=bool(undone)))


@post("/login", **public(audit="login"))
async def log_in(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    accounts: NamedDependency[Accounts],
    sessions: NamedDependency[Sessions],
    sso: NamedDependency[SingleSignOn],
    client_address: NamedDependency[str],
    data: FromForm[LoginSent],
) -> Response[Any]:
    """Opens a session with a new id, or says that name or password is wrong, never which."""
    back = local_path(data.next) or HOME
    ways = Ways(accounts, sso)
    try:
        account = await accounts.authenticate(
            data.username.strip(), data.password, address=client_address, action=action_of(request)
        )
    except TryAgainLater as error:
        told = f"{str(error).capitalize()}. Try again in {span(error.retry_after_s)}."
        page = ways.page(data.username, back, told, wants_form=True)
        return console.lone(request, "pages/login.html", replace(page, undone=bool(data.undone)), status=429)
    session = await _open(request, sessions, account, client_address) if account else None
    if session is None:
        page = ways.page(data.username, back, _WRONG, wants_form=True)
        again = replace(page, undone=bool(data.undone))
        return console.lone(request, "pages/login.html", again, status=HTTPStatus.UNAUTHORIZED)
    if back == HOME and account is not None and Permission.QUEUES_READ not in permissions_of(account.roles):
        back = ACCOUNT  # the Overview is not theirs to read
    cookies = [sessions.cookie.holding(session.id)]
    if data.undone:
        cookies.append(console.told(Flash("bad", _UNDONE), seal=session.csrf_token))
    return Redirect(console.settings.root_path + back, status_code=htmx.SEE_OTHER, cookies=cookies)


async def _open(request: ConsoleRequest, sessions: Sessions, account: Account, address: str) -> NewSession | None:
    return await sessions.create(account, address=address, agent=request.headers.get("user-agent", ""))


@post("/logout", **any_identity(audit="logout"))
async def log_out(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    sessions: NamedDependency[Sessions],
    sso: NamedDependency[SingleSignOn],
    store: NamedDependency[Store],
) -> Response[Any]:
    """Ends the session on the server and makes the browser forget it; on to the provider's logout if that is wanted."""
    await sessions.destroy(request.auth)
    target = console.settings.root_path + login_path(None)
    elsewhere = await _provider_logout(request, sso, store, target)
    if elsewhere is None:
        return Redirect(target, status_code=htmx.SEE_OTHER, cookies=[sessions.cookie.removed()])
    # A page, not a redirect: browsers hold redirects of a form to where forms may go.
    page = console.lone(request, "pages/logged_out.html", LoggedOutPage(sso.settings.provider, elsewhere))
    page.set_cookie(sessions.cookie.removed())
    return page


async def _provider_logout(request: ConsoleRequest, sso: SingleSignOn, store: Store, target: str) -> str | None:
    if not sso.settings.end_session:
        return None
    account = await store.run(calls.account_info(request.user.username))
    if account is None or account.origin != "oidc":
        return None
    here = urlsplit(sso.settings.redirect_url)
    return await sso.end_session_url(f"{here.scheme}://{here.netloc}{target}")
