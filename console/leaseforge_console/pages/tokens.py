"""Everybody's API tokens, and their end."""

from typing import Annotated, Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from leaseforge import limits
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.guards import permission
from leaseforge_auth.permissions import Permission
from leaseforge_console.console import Place
from leaseforge_console.pages.own_tokens import token_of
from leaseforge_console.views import credentials
from leaseforge_console.views import users as view
from leaseforge_console.visit import Visit

PLACE = Place("API tokens", "users")
Owner = Annotated[str, QueryParameter(name="owner", max_length=64)]


@get("/tokens", **permission(Permission.TOKENS_READ))
async def show_tokens(
    visit: NamedDependency[Visit], api_tokens: NamedDependency[ApiTokens], offset: FromQuery[int] = 0
) -> Response[str]:
    """All API tokens, the newest first."""
    offset = min(max(offset, 0), limits.MAX_OFFSET)
    found, total = await api_tokens.listed(None, offset=offset, limit=view.PAGE_SIZE)
    may_revoke = visit.identity.can(Permission.TOKENS_WRITE)
    page = view.tokens_page(found, total, offset=offset, may_revoke=may_revoke)
    return visit.page("pages/tokens/index.html", page, PLACE, await visit.snapshot())


@get("/tokens/{token_id:str}/revoke", **permission(Permission.TOKENS_WRITE))
async def confirm_revoke(
    visit: NamedDependency[Visit], api_tokens: NamedDependency[ApiTokens], token_id: FromPath[str], owner: Owner = ""
) -> Response[str]:
    """Shows which token would end; `owner` says in whose list it stands."""
    [row] = credentials.token_rows([await token_of(api_tokens, owner, token_id)], may_revoke=True)
    page = credentials.Revocation(row, row.path, "/tokens")
    place, snapshot = Place("Revoke an API token", "users"), await visit.snapshot()
    return visit.page("pages/account/revoke.html", page, place, snapshot)


@post("/tokens/{token_id:str}/revoke", **permission(Permission.TOKENS_WRITE, audit="token.revoke"))
async def revoke_token(
    visit: NamedDependency[Visit], api_tokens: NamedDependency[ApiTokens], token_id: FromPath[str]
) -> Response[Any]:
    """Ends a token at once, on every server."""
    await api_tokens.revoke(token_id, owner=None)
    told = "Revoked the token: it opens nothing any more."
    return visit.go(visit.after_confirmation("/console/tokens"), told)
