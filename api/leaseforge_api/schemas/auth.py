"""Login and who somebody is."""

from typing import Annotated

from msgspec import Meta, Struct

from leaseforge_api.schemas.values import Instant
from leaseforge_auth.access import IssuedToken
from leaseforge_auth.identity import Identity
from leaseforge_auth.passwords import MAX_PASSWORD_BYTES


class LoginRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A username and its password."""

    username: Annotated[str, Meta(min_length=1, max_length=256)]
    password: Annotated[str, Meta(min_length=1, max_length=MAX_PASSWORD_BYTES)]


class PasswordRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The password one has, and the one to have."""

    current: Annotated[str, Meta(min_length=1, max_length=MAX_PASSWORD_BYTES)]
    new: Annotated[str, Meta(min_length=1, max_length=MAX_PASSWORD_BYTES)]


class User(Struct, frozen=True):
    """An account and what it may do now."""

    username: str
    roles: list[str]
    permissions: list[str]


class LoginAnswer(Struct, frozen=True):
    """An access token; `expires_in` seconds from now it is worth nothing."""

    access_token: str
    token_type: str
    expires_in: int
    user: User


class Me(Struct, frozen=True):
    """The caller, and when the token shown ends; null for one that does not."""

    username: str
    roles: list[str]
    permissions: list[str]
    expires_at: Instant | None


class SsoMethod(Struct, frozen=True):
    """Single sign-on: what the provider is called, and where a browser begins a login."""

    enabled: bool
    provider: str | None
    login_url: str | None


class LoginMethods(Struct, frozen=True):
    """How one can log in here. Without `password` only the accounts for an emergency have one."""

    password: bool
    sso: SsoMethod


class ExchangeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The one-time code of a login through the provider."""

    code: Annotated[str, Meta(min_length=1, max_length=256)]


def user(identity: Identity) -> User:
    """An identity as answers show it."""
    return User(identity.username, [*identity.roles], sorted(identity.permissions))


def login_answer(issued: IssuedToken, identity: Identity) -> LoginAnswer:
    """A token that was just handed out, as answers show it."""
    return LoginAnswer(issued.token, "Bearer", issued.expires_in_s, user(identity))
