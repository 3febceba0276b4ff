"""The Account page: what everybody does to their own password, sessions and logins."""

from collections.abc import Mapping
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge.errors import BadInput
from leaseforge_auth.accounts import Accounts
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import NotAuthenticated, TryAgainLater
from leaseforge_auth.guards import any_identity
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.users import Users
from leaseforge_console import htmx
from leaseforge_console.console import Place
from leaseforge_console.filters import span
from leaseforge_console.forms import by_field
from leaseforge_console.paths import ACCOUNT, login_path
from leaseforge_console.views import account as view
from leaseforge_console.views.frame import Flash
from leaseforge_console.visit import Visit

PLACE = Place("Account", "account")


@get("/account", **any_identity())
async def show_account(
    visit: NamedDependency[Visit],
    accounts: NamedDependency[Accounts],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    api_tokens: NamedDependency[ApiTokens],
) -> Response[str]:
    """Who one is here, with one's sessions and tokens."""
    return await _show(visit, accounts, users, sessions, api_tokens)


@post("/account/password", **any_identity(audit="password.change"))
async def change_password(
    visit: NamedDependency[Visit],
    accounts: NamedDependency[Accounts],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    api_tokens: NamedDependency[ApiTokens],
    client_address: NamedDependency[str],
) -> Response[Any]:
    """Changes one's own password: everything handed out before ends, this browser gets a new session."""
    form = await visit.sent()
    username = visit.user
    problems: dict[str, str] = {}
    status = 422
    try:
        if form.text("new") != form.text("again"):
            problems["again"] = "Is not the same as the new password."
        account = await accounts.authenticate(
            username, form.text("current"), address=client_address, action=action_of(visit.request)
        )
        if account is None:
            problems["current"] = "Is not your password."
        elif not problems:
            fresh = await users.set_own_password(account, form.text("new"))
            agent = visit.request.headers.get("user-agent", "")
            session = await sessions.create(fresh, address=client_address, agent=agent)
            if session is None:
                raise NotAuthenticated("the account was changed in this very moment: log in again")
            told = Flash("good", "Changed your password. Everybody else who was logged in as you no longer is.")
            answer = visit.console.go(visit.request, ACCOUNT, told, seal=session.csrf_token)
            answer.cookies.append(sessions.cookie.holding(session.id))
            return answer
    except TryAgainLater as error:
        problems["current"] = f"{str(error).capitalize()}. Try again in {span(error.retry_after_s)}."
        status = 429
    except BadInput as error:
        problems |= {"new" if name == "password" else name: told for name, told in by_field(error).items()}
    return await _show(visit, accounts, users, sessions, api_tokens, problems=problems, status=status)


@post("/account/sessions/{session_id:str}/end", **any_identity(audit="session.revoke"))
async def end_session(
    visit: NamedDependency[Visit], sessions: NamedDependency[Sessions], session_id: FromPath[str]
) -> Response[Any]:
    """Ends one of one's own sessions; ending this very one is a logout."""
    await sessions.revoke(visit.user, session_id)
    if session_id == sessions.public_id(visit.request.auth):
        return _leave(visit, sessions)
    return visit.go(ACCOUNT, "Ended the session: that browser has to log in again.")


@get("/account/logout", **any_identity())
async def confirm_logout(visit: NamedDependency[Visit]) -> Response[str]:
    """Says what will end."""
    place = Place("Log out everywhere", "account")
    return visit.page("pages/account/logout.html", None, place, await visit.rail_counts())


@post("/account/logout", **any_identity(audit="user.logout"))
async def log_out_everywhere(
    visit: NamedDependency[Visit], users: NamedDependency[Users], sessions: NamedDependency[Sessions]
) -> Response[Any]:
    """Ends all of one's sessions, access tokens and personal API tokens, this session too."""
    await users.log_out_everywhere(visit.user)
    return _leave(visit, sessions)


def _leave(visit: Visit, sessions: Sessions) -> Response[Any]:
    """To the login page; the browser forgets its session."""
    root_path = visit.console.settings.root_path
    return htmx.go(visit.request, root_path, login_path(None), [sessions.cookie.removed()])


async def _show(
    visit: Visit,
    accounts: Accounts,
    users: Users,
    sessions: Sessions,
    api_tokens: ApiTokens,
    *,
    problems: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response[str]:
    identity = visit.identity
    info = await users.show(identity.username)
    counts = accounts.password_for is None or identity.username in accounts.password_for
    tokens, _ = await api_tokens.listed(identity.username, offset=0)
    page = view.build(
        identity,
        info,
        await sessions.listed(identity.username),
        tokens,
        this_session=sessions.public_id(visit.request.auth),
        password=view.password_form(info, counts=counts, problems=problems),
    )
    return visit.page("pages/account/index.html", page, PLACE, await visit.rail_counts(), status=status)
