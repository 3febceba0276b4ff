"""One's own API tokens: made and shown once, revoked."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from leaseforge.errors import BadInput, FieldProblem
from leaseforge_auth.api_tokens import ApiToken, ApiTokens, TokenKind
from leaseforge_auth.errors import TokenNameTaken, TokenNotFound
from leaseforge_auth.guards import any_identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role
from leaseforge_console.console import Place
from leaseforge_console.forms import Sent, by_field
from leaseforge_console.paths import ACCOUNT
from leaseforge_console.views import credentials as view
from leaseforge_console.visit import Visit

PLACE = Place("New API token", "account")


@get("/account/tokens/new", **any_identity())
async def ask_for_token(visit: NamedDependency[Visit]) -> Response[str]:
    """The form."""
    return await _ask(visit, view.TokenSent(), {})


@post("/account/tokens/new", **any_identity(audit="token.create"))
async def make_token(visit: NamedDependency[Visit], api_tokens: NamedDependency[ApiTokens]) -> Response[str]:
    """Makes a token and shows it, in this answer and never again."""
    sent = _read(await visit.sent())
    mine, _ = await api_tokens.listed(visit.user, offset=0)
    if sent.kind is TokenKind.PERSONAL and any(token.name == sent.name and token.kind is sent.kind for token in mine):
        # Whoever presses twice means one token.
        taken = {"name": "You have a token of this name: choose another, or revoke that one first."}
        return await _ask(visit, sent, taken, status=409)
    try:
        made = await api_tokens.create(
            visit.identity,
            name=sent.name,
            kind=sent.kind,
            roles=sent.role,
            permissions=sent.permissions,
            ttl_s=_seconds(sent.lifetime),
        )
    except BadInput as error:
        return await _ask(visit, sent, by_field(error))
    except TokenNameTaken as error:
        return await _ask(visit, sent, {"name": f"{str(error).capitalize()}."}, status=409)
    visit.note(
        token=made.id,
        name=sent.name,
        kind=sent.kind,
        role=[*sent.role],
        permissions=sorted(sent.permissions),
    )
    page, counts = view.token_made(sent.name, made), await visit.rail_counts()
    return visit.page("pages/account/token.html", page, PLACE, counts, status=201)


@get("/account/tokens/{token_id:str}/revoke", **any_identity())
async def confirm_revoke(
    visit: NamedDependency[Visit], api_tokens: NamedDependency[ApiTokens], token_id: FromPath[str]
) -> Response[str]:
    """Shows which token would end."""
    [row] = view.own_token_rows([await token_of(api_tokens, visit.user, token_id)])
    page = view.Revocation(row, row.path, "/account")
    counts = await visit.rail_counts()
    place = Place("Revoke an API token", "account")
    return visit.page("pages/account/revoke.html", page, place, counts)


@post("/account/tokens/{token_id:str}/revoke", **any_identity(audit="token.revoke"))
async def revoke_token(
    visit: NamedDependency[Visit], api_tokens: NamedDependency[ApiTokens], token_id: FromPath[str]
) -> Response[Any]:
    """Ends one of one's own tokens at once, on every server."""
    await api_tokens.revoke(token_id, owner=visit.user)
    return visit.go(ACCOUNT, "Revoked the token: it opens nothing any more.")


async def token_of(api_tokens: ApiTokens, owner: str, token_id: str) -> ApiToken:
    """One of an account's tokens. Raises TokenNotFound."""
    tokens, _ = await api_tokens.listed(owner, offset=0)
    found = next((token for token in tokens if token.id == token_id), None)
    if found is None:
        raise TokenNotFound(token_id)
    return found


def _read(form: Sent) -> view.TokenSent:
    kinds = form.ticked("kind", TokenKind)
    return view.TokenSent(
        form.text("name").strip(),
        kinds[0] if kinds else TokenKind.PERSONAL,
        form.ticked("role", Role)[:1],
        form.ticked("permissions", Permission),
        form.text("lifetime"),
    )


def _seconds(lifetime: str) -> int | None:
    if lifetime == view.NEVER:
        return None
    if lifetime not in view.LIFETIMES:
        raise BadInput([FieldProblem("expires_in_seconds", "choose one of these")])
    return int(lifetime)


async def _ask(visit: Visit, sent: view.TokenSent, problems: dict[str, str], *, status: int = 422) -> Response[str]:
    page = view.token_form(visit.identity, sent, problems)
    counts = await visit.rail_counts()
    status = status if problems else 200
    return visit.page("pages/account/new_token.html", page, PLACE, counts, status=status)
