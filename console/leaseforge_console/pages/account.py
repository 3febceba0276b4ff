"""The Account page: what everybody does to their own password, sessions and logins."""

from collections.abc import Mapping
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect

from leaseforge.errors import BadInput
from leaseforge.store import Store
from leaseforge_auth.accounts import Accounts
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import NotAuthenticated, TryAgainLater
from leaseforge_auth.guards import any_identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.users import Users
from leaseforge_console import htmx
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.filters import span
from leaseforge_console.forms import by_field, sent_by
from leaseforge_console.live import read_snapshot
from leaseforge_console.paths import ACCOUNT, login_path
from leaseforge_console.views import account as view
from leaseforge_console.views.frame import Flash
from leaseforge_console.views.snapshot import Snapshot

PLACE = Place("Account", "account")


async def rail_counts(request: ConsoleRequest, store: Store) -> Snapshot | None:
    """The counts beside the page, for those who may see them."""
    return await read_snapshot(store) if identity_of(request).can(Permission.QUEUES_READ) else None


@get("/account", **any_identity())
async def show_account(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    accounts: NamedDependency[Accounts],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    api_tokens: NamedDependency[ApiTokens],
) -> Response[str]:
    """Who one is here, with one's sessions and tokens."""
    return await _show(request, console, store, accounts, users, sessions, api_tokens)


@post("/account/password", **any_identity(audit="password.change"))
async def change_password(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    accounts: NamedDependency[Accounts],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
    api_tokens: NamedDependency[ApiTokens],
    client_address: NamedDependency[str],
) -> Response[Any]:
    """Changes one's own password: everything handed out before ends, this browser gets a new session."""
    form = await sent_by(request)
    username = identity_of(request).username
    problems: dict[str, str] = {}
    status = 422
    try:
        if form.text("new") != form.text("again"):
            problems["again"] = "Is not the same as the new password."
        account = await accounts.authenticate(
            username, form.text("current"), address=client_address, action=action_of(request)
        )
        if account is None:
            problems["current"] = "Is not your password."
        elif not problems:
            fresh = await users.set_own_password(account, form.text("new"))
            agent = request.headers.get("user-agent", "")
            session = await sessions.create(fresh, address=client_address, agent=agent)
            if session is None:
                raise NotAuthenticated("the account was changed in this very moment: log in again")
            told = Flash("good", "Changed your password. Everybody else who was logged in as you no longer is.")
            answer = console.go(request, ACCOUNT, told, seal=session.csrf_token)
            answer.cookies.append(sessions.cookie.holding(session.id))
            return answer
    except TryAgainLater as error:
        problems["current"] = f"{str(error).capitalize()}. Try again in {span(error.retry_after_s)}."
        status = 429
    except BadInput as error:
        problems |= {"new" if name == "password" else name: told for name, told in by_field(error).items()}
    return await _show(request, console, store, accounts, users, sessions, api_tokens, problems=problems, status=status)


@post("/account/sessions/{session_id:str}/end", **any_identity(audit="session.revoke"))
async def end_session(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    sessions: NamedDependency[Sessions],
    session_id: FromPath[str],
) -> Response[Any]:
    """Ends one of one's own sessions; ending this very one is a logout."""
    await sessions.revoke(identity_of(request).username, session_id)
    if session_id == sessions.public_id(request.auth):
        return _leave(request, console, sessions)
    return console.go(request, ACCOUNT, Flash("good", "Ended the session: that browser has to log in again."))


@get("/account/logout", **any_identity())
async def confirm_logout(
    request: ConsoleRequest, console: NamedDependency[Console], store: NamedDependency[Store]
) -> Response[str]:
    """Says what will end."""
    place = Place("Log out everywhere", "account")
    counts = await rail_counts(request, store)
    return console.page(request, "pages/account/logout.html", None, place, snapshot=counts)


@post("/account/logout", **any_identity(audit="user.logout"))
async def log_out_everywhere(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    users: NamedDependency[Users],
    sessions: NamedDependency[Sessions],
) -> Response[Any]:
    """Ends all of one's sessions, access tokens and personal API tokens, this session too."""
    await users.log_out_everywhere(identity_of(request).username)
    return _leave(request, console, sessions)


def _leave(request: ConsoleRequest, console: Console, sessions: Sessions) -> Response[Any]:
    """To the login page; the browser forgets its session."""
    target = console.settings.root_path + login_path(None)
    if htmx.is_htmx(request):
        answer: Response[Any] = Response(b"", headers={"HX-Redirect": target}, cookies=[sessions.cookie.removed()])
        return answer
    return Redirect(target, status_code=htmx.SEE_OTHER, cookies=[sessions.cookie.removed()])


async def _show(
    request: ConsoleRequest,
    console: Console,
    store: Store,
    accounts: Accounts,
    users: Users,
    sessions: Sessions,
    api_tokens: ApiTokens,
    *,
    problems: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response[str]:
    identity = identity_of(request)
    info = await users.show(identity.username)
    counts = accounts.password_for is None or identity.username in accounts.password_for
    tokens, _ = await api_tokens.listed(identity.username, offset=0)
    page = view.build(
        identity,
        info,
        await sessions.listed(identity.username),
        tokens,
        this_session=sessions.public_id(request.auth),
        password=view.password_form(info, counts=counts, problems=problems),
    )
    snapshot = await rail_counts(request, store)
    return console.page(request, "pages/account/index.html", page, PLACE, snapshot=snapshot, status=status)
