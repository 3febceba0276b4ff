"""Accounts as administrators see them: the list, one account, and what is asked before something is done to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from leaseforge_auth.api_tokens import ApiToken
from leaseforge_auth.calls import AccountInfo
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role
from leaseforge_auth.session_calls import SessionInfo
from leaseforge_console.filters import plural
from leaseforge_console.views.account import ORIGINS
from leaseforge_console.views.credentials import Option, SessionRow, TokenRow, session_rows, token_rows
from leaseforge_console.views.permissions import ROLES
from leaseforge_console.views.tables import Pages, shown

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class UserRow:
    """One account in the list. `origin` says who made it, in words."""

    username: str
    roles: tuple[Role, ...]
    is_disabled: bool
    origin: str
    created_at: datetime
    last_login_at: datetime | None


@dataclass(frozen=True, slots=True)
class UsersPage:
    """The list."""

    summary: str
    rows: tuple[UserRow, ...]
    pages: Pages


@dataclass(frozen=True, slots=True)
class TokensPage:
    """The list of everybody's API tokens."""

    summary: str
    rows: tuple[TokenRow, ...]
    pages: Pages


@dataclass(frozen=True, slots=True)
class NewUser:
    """The form that makes an account."""

    username: str
    roles: tuple[Option, ...]
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PasswordMade:
    """The page that shows a generated password, this once."""

    username: str
    text: str = field(repr=False)
    is_new: bool


@dataclass(frozen=True, slots=True)
class UserPage:
    """One account. `problem` says why its roles could not be changed."""

    row: UserRow
    is_from_settings: bool
    has_password: bool
    is_oneself: bool
    changed_at: datetime
    roles: tuple[Option, ...]
    sessions: tuple[SessionRow, ...]
    tokens: tuple[TokenRow, ...]
    problem: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What is asked before something is done to an account: `text` and `points` say what will be.

    `epoch` is the state of the account that is shown, so that a form sent twice does nothing twice. `word` has to be
    typed, '' for nothing; `problem` says what was wrong with what was sent.
    """

    title: str
    username: str
    path: str
    text: str
    points: tuple[str, ...]
    keep: str
    button: str
    destroys: bool = True
    word: str = ""
    problem: str = ""
    epoch: int = 0


def users_page(accounts: Sequence[AccountInfo], total: int, *, offset: int) -> UsersPage:
    """A page of accounts by name."""
    rows = tuple(_row(info) for info in accounts)
    return UsersPage(plural(total, "user"), rows, _pages("/users", len(rows), total, "user", offset=offset))


def tokens_page(tokens: Sequence[ApiToken], total: int, *, offset: int, may_revoke: bool) -> TokensPage:
    """A page of API tokens, newest first."""
    rows = token_rows(tokens, may_revoke=may_revoke)
    return TokensPage(plural(total, "API token"), rows, _pages("/tokens", len(rows), total, "API token", offset=offset))


def new_user(username: str = "", roles: Sequence[Role] = (), problems: Mapping[str, str] | None = None) -> NewUser:
    """The form, filled in as it was sent."""
    return NewUser(username, role_options(roles), problems or {})


def user_page(
    info: AccountInfo,
    sessions: Sequence[SessionInfo],
    tokens: Sequence[ApiToken],
    asker: Identity,
    *,
    this_session: str,
    problem: str = "",
) -> UserPage:
    """One account with everything that was handed out to it."""
    may_end = asker.can(Permission.USERS_WRITE)
    return UserPage(
        _row(info),
        info.origin == "settings",
        info.has_password,
        info.username == asker.username,
        _at(info.changed_at_ms),
        role_options(info.roles),
        session_rows(sessions, this=this_session, below=f"/users/{info.username}" if may_end else ""),
        token_rows(tokens, may_revoke=asker.can(Permission.TOKENS_WRITE)),
        problem,
        info.epoch,
    )


def role_options(chosen: Sequence[Role]) -> tuple[Option, ...]:
    """All roles as choices."""
    return tuple(Option(role, role, ROLES[role], is_chosen=role in chosen) for role in Role)


def ask_disable(username: str) -> Confirmation:
    """Before an account is disabled."""
    return Confirmation(
        f"Disable {username}?",
        username,
        f"/users/{username}/disable",
        "The account stays, with its roles and its password; nobody can log in with it until it is enabled again.",
        (
            "Its sessions and access tokens end at once.",
            "Its personal API tokens are refused as long as it is disabled. Service tokens it made live on.",
        ),
        "Leave it enabled",
        "Disable the account",
    )


def ask_password(username: str) -> Confirmation:
    """Before a new password is made."""
    return Confirmation(
        f"New password for {username}?",
        username,
        f"/users/{username}/password",
        "A password is made and shown to you once, to be passed on. The present one does not count any more.",
        ("Its sessions and access tokens end at once.", "Its API tokens live on."),
        "Keep the present one",
        "Make a new password",
        destroys=False,
    )


def ask_logout(username: str) -> Confirmation:
    """Before everything that was handed out ends."""
    return Confirmation(
        f"Log {username} out everywhere?",
        username,
        f"/users/{username}/logout",
        "This ends everything that was handed out to the account, at once and on every server:",
        (
            "all its browser sessions;",
            "all its access tokens from logins;",
            "all its personal API tokens. Service tokens live on.",
        ),
        "Leave it logged in",
        "Log out everywhere",
    )


def ask_delete(username: str) -> Confirmation:
    """Before an account is removed; its name has to be typed."""
    return Confirmation(
        f"Delete {username}?",
        username,
        f"/users/{username}/delete",
        "This removes the account. It cannot be brought back; disabling it would keep it.",
        (
            "Its sessions, access tokens and personal API tokens end at once.",
            "Service tokens it made live on.",
            "What it did stays in the audit trail.",
        ),
        "Keep it",
        "Delete the account",
        word=username,
    )


def _row(info: AccountInfo) -> UserRow:
    return UserRow(
        info.username,
        info.roles,
        info.is_disabled,
        ORIGINS.get(info.origin, info.origin),
        _at(info.created_at_ms),
        None if info.last_login_at_ms is None else _at(info.last_login_at_ms),
    )


def _pages(path: str, count: int, total: int, what: str, *, offset: int) -> Pages:
    return Pages(
        shown(offset, count, total, what),
        f"{path}?offset={max(offset - PAGE_SIZE, 0)}" if offset else None,
        # A list may show fewer than it counts: expired tokens stand in it for a while.
        f"{path}?offset={offset + PAGE_SIZE}" if offset + PAGE_SIZE < total else None,
    )


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
