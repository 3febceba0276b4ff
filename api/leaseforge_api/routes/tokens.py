"""API tokens: everybody's own, and for those who may, everybody's."""

from typing import Annotated, Any

from litestar import Request, Router, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET

from leaseforge_api.bodies import JsonBody
from leaseforge_api.schemas.pages import Asked, Listed
from leaseforge_api.schemas.tokens import NewTokenAnswer, Token, TokenRequest, instant_or_never, token
from leaseforge_api.schemas.values import instant_of
from leaseforge_auth.api_tokens import ApiTokens
from leaseforge_auth.audit.action import action_of
from leaseforge_auth.errors import NotPermitted
from leaseforge_auth.guards import any_identity
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission

Of = Annotated[
    str, QueryParameter(name="user", max_length=64, description="Another account's tokens, or `*` for all of them.")
]


@get("/", summary="List API tokens", **any_identity())
async def index(
    identity: NamedDependency[Identity],
    api_tokens: NamedDependency[ApiTokens],
    page: NamedDependency[Asked],
    of: Of = "",
) -> Listed[Token]:
    """One's own tokens, the newest first; those of others need `tokens:read`."""
    is_own = identity.kind != "api_token" and of in ("", identity.username)
    if not is_own and not identity.can(Permission.TOKENS_READ):
        raise NotPermitted(Permission.TOKENS_READ)
    owner = None if of == "*" else of or identity.username
    found, total = await api_tokens.listed(owner, offset=page.offset, limit=page.limit)
    return page.listed([token(one) for one in found], total)


@post(
    "/",
    summary="Create an API token",
    status_code=201,
    dto=JsonBody[TokenRequest],
    **any_identity(audit="token.create"),
)
async def create(
    data: JSONBody[TokenRequest],
    request: Request[Identity, Any, Any],
    identity: NamedDependency[Identity],
    api_tokens: NamedDependency[ApiTokens],
) -> NewTokenAnswer:
    """Makes a token, which is shown in this answer and never again. A service token needs `tokens:write`."""
    roles = [] if data.role is UNSET else [data.role]
    made = await api_tokens.create(
        identity,
        name=data.name,
        kind=data.kind,
        roles=roles,
        permissions=data.permissions,
        ttl_s=data.expires_in_seconds,
    )
    action_of(request).note(
        token=made.id, name=data.name, kind=data.kind, role=[*roles], permissions=sorted(data.permissions)
    )
    return NewTokenAnswer(
        made.id, made.text, instant_of(made.created_at_ms / 1000), instant_or_never(made.expires_at_ms)
    )


@delete("/{token_id:str}", summary="Revoke an API token", **any_identity(audit="token.revoke"))
async def revoke(
    token_id: FromPath[str], identity: NamedDependency[Identity], api_tokens: NamedDependency[ApiTokens]
) -> None:
    """Ends a token at once, on every server. Another account's needs `tokens:write`."""
    may_any = identity.can(Permission.TOKENS_WRITE)
    if identity.kind == "api_token" and not may_any:
        # It was made to do a few things; ending its owner's other tokens is not one of them.
        raise NotPermitted(Permission.TOKENS_WRITE)
    await api_tokens.revoke(token_id, owner=None if may_any else identity.username)


router = Router("/tokens", route_handlers=[index, create, revoke], tags=["tokens"])
