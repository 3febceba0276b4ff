"""Everybody's API tokens, and their end."""

from typing import Annotated, Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from leaseforge import limits
from leaseforge.store import Store
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Console, ConsoleRequest, Place, identity_of
from leaseforge_console.live import read_snapshot
from leaseforge_console.pages.own_tokens import token_of
from leaseforge_console.views import credentials
from leaseforge_console.views import users as view
from leaseforge_console.views.frame import Flash

PLACE = Place("API tokens", "users")
Owner = Annotated[str, QueryParameter(name="owner", max_length=64)]


@get("/tokens", **permission(Permission.TOKENS_READ))
async def show_tokens(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    api_tokens: NamedDependency[ApiTokens],
    offset: FromQuery[int] = 0,
) -> Response[str]:
    """All API tokens, the newest first."""
    offset = min(max(offset, 0), limits.MAX_OFFSET)
    found, total = await api_tokens.listed(None, offset=offset, limit=view.PAGE_SIZE)
    may_revoke = identity_of(request).can(Permission.TOKENS_WRITE)
    page = view.tokens_page(found, total, offset=offset, may_revoke=may_revoke)
    return console.page(request, "pages/tokens/index.html", page, PLACE, snapshot=await read_snapshot(store))


@get("/tokens/{token_id:str}/revoke", **permission(Permission.TOKENS_WRITE))
async def confirm_revoke(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    store: NamedDependency[Store],
    api_tokens: NamedDependency[ApiTokens],
    token_id: FromPath[str],
    owner: Owner = "",
) -> Response[str]:
    """Shows which token would end; `owner` says in whose list it stands."""
    [row] = credentials.token_rows([await token_of(api_tokens, owner, token_id)], may_revoke=True)
    page = credentials.Revocation(row, row.path, "/tokens")
    place, snapshot = Place("Revoke an API token", "users"), await read_snapshot(store)
    return console.page(request, "pages/account/revoke.html", page, place, snapshot=snapshot)


@post("/tokens/{token_id:str}/revoke", **permission(Permission.TOKENS_WRITE, audit="token.revoke"))
async def revoke_token(
    request: ConsoleRequest,
    console: NamedDependency[Console],
    api_tokens: NamedDependency[ApiTokens],
    token_id: FromPath[str],
) -> Response[Any]:
    """Ends a token at once, on every server."""
    await api_tokens.revoke(token_id, owner=None)
    told = Flash("good", "Revoked the token: it opens nothing any more.")
    return console.go(request, console.after_confirmation(request, "/console/tokens"), told)
