"""Users and sessions as the API takes and shows them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from leaseforge_api.schemas.tokens import instant_or_never
from leaseforge_api.schemas.values import Instant, Reason, instant_of
from leaseforge_auth.calls import AccountInfo
from leaseforge_auth.passwords import MAX_PASSWORD_BYTES
from leaseforge_auth.roles import Role
from leaseforge_auth.session_calls import SessionInfo

Roles = Annotated[list[Role], Meta(max_length=len(Role))]
Password = Annotated[str, Meta(min_length=1, max_length=MAX_PASSWORD_BYTES)]


class UserRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An account to be made."""

    username: Annotated[str, Meta(min_length=1, max_length=64)]
    roles: Roles
    password: Password
    reason: Reason | UnsetType = UNSET


class UserChangeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be different about an account; what is left out stays."""

    roles: Roles | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    password: Password | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class Account(Struct, frozen=True):
    """An account. `origin` is settings, cli, api or oidc: what made it, and who changes it."""

    username: str
    roles: list[str]
    origin: str
    disabled: bool
    has_password: bool
    created_at: Instant
    changed_at: Instant
    last_login_at: Instant | None


class Session(Struct, frozen=True):
    """A browser session. `last_seen_at` is exact to a minute."""

    id: str
    created_at: Instant
    last_seen_at: Instant
    address: str | None
    user_agent: str | None


def account(info: AccountInfo) -> Account:
    """An account as answers show it."""
    return Account(
        info.username,
        [*info.roles],
        info.origin,
        info.is_disabled,
        info.has_password,
        instant_of(info.created_at_ms / 1000),
        instant_of(info.changed_at_ms / 1000),
        instant_or_never(info.last_login_at_ms),
    )


def session(info: SessionInfo) -> Session:
    """A session as answers show it."""
    return Session(
        info.id,
        instant_of(info.created_at_ms / 1000),
        instant_of(info.seen_at_ms / 1000),
        info.address or None,
        info.agent or None,
    )
