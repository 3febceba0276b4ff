"""The page about oneself: who one is here, and everything that was handed out to one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from leaseforge_auth.api_tokens import ApiToken
from leaseforge_auth.calls import AccountInfo
from leaseforge_auth.identity import Identity
from leaseforge_auth.roles import Role
from leaseforge_auth.session_calls import SessionInfo
from leaseforge_console.views.credentials import SessionRow, TokenRow, own_token_rows, session_rows
from leaseforge_console.views.permissions import ROLES, Allowed, in_words

ORIGINS = {
    "settings": "the server's settings",
    "cli": "the command line",
    "api": "an administrator",
    "oidc": "single sign-on",
}


@dataclass(frozen=True, slots=True)
class PasswordForm:
    """The form, or why there is none."""

    why_not: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AccountPage:
    """The page."""

    username: str
    roles: tuple[tuple[Role, str], ...]
    allowed: tuple[Allowed, ...]
    origin: str
    created_at: datetime
    last_login_at: datetime | None
    password: PasswordForm
    sessions: tuple[SessionRow, ...]
    tokens: tuple[TokenRow, ...]


def build(
    identity: Identity,
    info: AccountInfo,
    sessions: Sequence[SessionInfo],
    tokens: Sequence[ApiToken],
    *,
    this_session: str,
    password: PasswordForm,
) -> AccountPage:
    """The page of whoever asks."""
    return AccountPage(
        info.username,
        tuple((role, ROLES[role]) for role in identity.roles),
        in_words(identity.permissions),
        ORIGINS.get(info.origin, info.origin),
        datetime.fromtimestamp(info.created_at_ms / 1000, UTC),
        None if info.last_login_at_ms is None else datetime.fromtimestamp(info.last_login_at_ms / 1000, UTC),
        password,
        session_rows(sessions, this=this_session, below="/account"),
        own_token_rows(tokens),
    )


def password_form(info: AccountInfo, *, counts: bool, problems: Mapping[str, str] | None = None) -> PasswordForm:
    """The form for whoever has a password that can be changed here; `counts`: it opens the door at all."""
    if info.origin == "settings":
        return PasswordForm("Your account comes from the server's settings: its password is changed there.")
    if not info.has_password:
        return PasswordForm("You log in by single sign-on: there is no password to change.")
    if not counts:
        return PasswordForm("Passwords are for a few emergency accounts only here; yours is not among them.")
    return PasswordForm(problems=problems or {})
