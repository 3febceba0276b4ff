"""API tokens as the API makes and shows them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from leaseforge_api.schemas.values import Instant, Reason, instant_of
from leaseforge_auth.api_tokens import DEFAULT_TTL_S, MAX_TTL_S, ApiToken, TokenKind
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role


class TokenRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A token to be made. What it may do is a role, or some permissions; never more than its maker may."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    kind: TokenKind = TokenKind.PERSONAL
    role: Role | UnsetType = UNSET
    permissions: Annotated[list[Permission], Meta(max_length=len(Permission))] = []
    expires_in_seconds: Annotated[int, Meta(ge=60, le=MAX_TTL_S)] | None = DEFAULT_TTL_S
    reason: Reason | UnsetType = UNSET


class NewTokenAnswer(Struct, frozen=True):
    """A token just made. `token` is shown this once."""

    id: str
    token: str
    created_at: Instant
    expires_at: Instant | None


class Token(Struct, frozen=True):
    """A token as lists show it. `owner` made it; a personal one acts for this account."""

    id: str
    name: str
    kind: TokenKind
    owner: str
    roles: list[str]
    permissions: list[str]
    created_at: Instant
    expires_at: Instant | None
    last_used_at: Instant | None


def token(known: ApiToken) -> Token:
    """A token as answers show it."""
    return Token(
        known.id,
        known.name,
        known.kind,
        known.owner,
        [*known.roles],
        sorted(known.permissions),
        instant_of(known.created_at_ms / 1000),
        instant_or_never(known.expires_at_ms),
        instant_or_never(known.last_used_at_ms),
    )


def instant_or_never(ms: int | None) -> Instant | None:
    """An instant that may not come, or not have come yet."""
    return None if ms is None else instant_of(ms / 1000)
