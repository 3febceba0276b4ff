"""Sessions and API tokens in lists, and the form that makes a token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote

from leaseforge_auth.api_tokens import ApiToken, NewToken, TokenKind
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role, permissions_of
from leaseforge_auth.session_calls import SessionInfo
from leaseforge_console.views.permissions import ROLES, WORDS

DAY_S = 86_400
NEVER = "never"
LIFETIMES = {
    str(7 * DAY_S): "7 days",
    str(30 * DAY_S): "30 days",
    str(90 * DAY_S): "90 days",
    str(365 * DAY_S): "a year",
}
DEFAULT_LIFETIME = str(90 * DAY_S)
_BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session. `is_this` marks the one the page was asked for with; `path` ends it, '' for who may not."""

    id: str
    browser: str
    agent: str
    address: str
    opened_at: datetime
    seen_at: datetime
    is_this: bool
    path: str


@dataclass(frozen=True, slots=True)
class TokenRow:
    """An API token. `may` says what it allows, `expires_at` None for one that does not expire.

    `path` asks whether to revoke it, '' for who may not.
    """

    id: str
    name: str
    kind: TokenKind
    owner: str
    may: str
    may_exactly: str
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    path: str


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a form."""

    value: str
    word: str
    hint: str = ""
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class TokenSent:
    """The filled-in form of a token."""

    name: str = ""
    kind: TokenKind = TokenKind.PERSONAL
    role: tuple[Role, ...] = ()
    permissions: tuple[Permission, ...] = ()
    lifetime: str = DEFAULT_LIFETIME


@dataclass(frozen=True, slots=True)
class TokenForm:
    """The page that makes a token: choices the user has, and what was wrong with those sent. `kinds` may be empty."""

    name: str
    kinds: tuple[Option, ...]
    roles: tuple[Option, ...]
    permissions: tuple[Option, ...]
    lifetimes: tuple[Option, ...]
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenMade:
    """The page that shows a token, this once."""

    id: str
    name: str
    text: str = field(repr=False)
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Revocation:
    """The confirmation: which token would end, where the form goes, and the way back."""

    token: TokenRow
    path: str
    back: str


def session_rows(sessions: Sequence[SessionInfo], *, this: str, below: str) -> tuple[SessionRow, ...]:
    """Sessions as the list shows them; `below` is the page they are ended on, '' for who may not."""
    return tuple(
        SessionRow(
            one.id,
            browser(one.agent),
            one.agent,
            one.address,
            _at(one.created_at_ms),
            _at(one.seen_at_ms),
            one.id == this,
            f"{below}/sessions/{one.id}/end" if below else "",
        )
        for one in sessions
    )


def own_token_rows(tokens: Sequence[ApiToken]) -> tuple[TokenRow, ...]:
    """One's own API tokens as the list shows them."""
    return tuple(_token_row(token, f"/account/tokens/{token.id}/revoke") for token in tokens)


def token_rows(tokens: Sequence[ApiToken], *, may_revoke: bool) -> tuple[TokenRow, ...]:
    """Anybody's API tokens as the list shows them."""
    return tuple(
        _token_row(token, f"/tokens/{token.id}/revoke?owner={quote(token.owner)}" if may_revoke else "")
        for token in tokens
    )


def token_form(maker: Identity, sent: TokenSent, problems: Mapping[str, str] | None = None) -> TokenForm:
    """The form with the choices this user has: nobody can give more than they may themselves."""
    roles = [role for role in Role if permissions_of([role]) <= maker.permissions]
    kinds = [
        Option(TokenKind.PERSONAL, "Personal", "Acts for you; ends with your account."),
        Option(TokenKind.SERVICE, "Service", "Stands for itself; outlives your account. Its name is its own."),
    ]
    lifetimes = dict(LIFETIMES)
    if maker.can(Permission.TOKENS_WRITE) and maker.can(Permission.USERS_WRITE):
        lifetimes[NEVER] = "never (service tokens only)"
    return TokenForm(
        sent.name,
        tuple(_chosen(option, sent.kind) for option in kinds) if maker.can(Permission.TOKENS_WRITE) else (),
        (
            Option("", "only what is ticked below", is_chosen=not sent.role),
            *(Option(role, role, ROLES[role], is_chosen=role in sent.role) for role in roles),
        ),
        tuple(
            Option(permission, f"{about}: {what}", permission, is_chosen=permission in sent.permissions)
            for permission, (about, what) in WORDS.items()
            if maker.can(permission)
        ),
        tuple(Option(value, word, is_chosen=value == sent.lifetime) for value, word in lifetimes.items()),
        problems or {},
    )


def token_made(name: str, made: NewToken) -> TokenMade:
    """The new token, for the one page that shows it."""
    return TokenMade(made.id, name, made.text, _at_or_never(made.expires_at_ms))


def browser(agent: str) -> str:
    """A browser's own description in two words; what is none of the usual ones stays as it is."""
    name = next((word for part, word in _BROWSERS if part in agent), "")
    system = next((word for part, word in _SYSTEMS if part in agent), "")
    if not name:
        return agent[:60] or "unknown"
    return f"{name} on {system}" if system else name


def _token_row(token: ApiToken, path: str) -> TokenRow:
    words = [*token.roles, *sorted(token.permissions)]
    shown = ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")
    return TokenRow(
        token.id,
        token.name,
        token.kind,
        token.owner,
        shown,
        ", ".join(words),
        _at(token.created_at_ms),
        _at_or_never(token.expires_at_ms),
        _at_or_never(token.last_used_at_ms),
        path,
    )


def _chosen(option: Option, kind: TokenKind) -> Option:
    return Option(option.value, option.word, option.hint, is_chosen=option.value == kind)


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _at_or_never(ms: int | None) -> datetime | None:
    return None if ms is None else _at(ms)
