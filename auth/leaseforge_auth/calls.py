"""What accounts, sessions and logins ask of Redis, as calls that a store carries out."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, answer
from leaseforge.scripts import ENGINE, Library
from leaseforge_auth import keys
from leaseforge_auth.roles import Role

Origin = Literal["cli", "api", "oidc"]
"""Where an account that the settings do not name comes from."""

SCRIPTS = Library(files("leaseforge_auth") / "lua", base=ENGINE)


@dataclass(frozen=True, slots=True)
class Account:
    """A user as stored. `epoch` rises with every change that must end what was handed out before."""

    username: str
    password_hash: str
    roles: tuple[Role, ...]
    epoch: int
    origin: str
    is_disabled: bool

    @property
    def is_from_settings(self) -> bool:
        """Whether password and roles are those of the settings, and changed there only."""
        return self.origin == "settings"


@dataclass(frozen=True, slots=True)
class AccountInfo:
    """A user as lists show it. Times are Redis time in ms."""

    username: str
    has_password: bool
    roles: tuple[Role, ...]
    origin: str
    is_disabled: bool
    created_at_ms: int
    changed_at_ms: int
    last_login_at_ms: int | None
    epoch: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What an account may do at this moment, read together with the credential that was shown."""

    username: str
    roles: tuple[Role, ...]
    epoch: int


def read_account(username: str) -> Call[Account | None]:
    """The account of this name, None if there is none."""

    def read(raw: Sequence[bytes]) -> Account | None:
        if not raw:
            return None
        password, roles, epoch, origin, disabled = (value.decode() for value in raw)
        return Account(username, password, decode_roles(roles), int(epoch), origin, disabled == "1")

    return Call(SCRIPTS.load("account_read"), keys.named(account=keys.account(username)), (), read)


def count_accounts() -> Call[int]:
    """How many accounts there are."""
    return Call(SCRIPTS.load("account_count"), keys.named(accounts=keys.ACCOUNTS), (), int)


def declare_account(username: str, *, password_hash: str, roles: Sequence[Role], replaces: str = "") -> Call[Answer]:
    """Makes an account named by the settings, or changes one: created, ok, or conflict if it is no longer theirs.

    `replaces` is the password hash read before, empty for a new account.
    """
    args: tuple[tuple[str, Arg], ...] = (
        ("username", username),
        ("expected", replaces),
        ("password", password_hash),
        ("roles", encode_roles(roles)),
    )
    account_keys = keys.named(accounts=keys.ACCOUNTS, account=keys.account(username))
    return Call(SCRIPTS.load("account_declare"), account_keys, args, answer)


def create_account(username: str, *, password_hash: str, roles: Sequence[Role], origin: Origin) -> Call[Answer]:
    """Makes an account: created, or conflict if the name is taken."""
    args: tuple[tuple[str, Arg], ...] = (
        ("username", username),
        ("password", password_hash),
        ("roles", encode_roles(roles)),
        ("origin", origin),
    )
    account_keys = keys.named(accounts=keys.ACCOUNTS, account=keys.account(username))
    return Call(SCRIPTS.load("account_create"), account_keys, args, answer)


def change_account(
    username: str,
    *,
    expected_epoch: int | None = None,
    roles: Sequence[Role] | None = None,
    disabled: bool | None = None,
    password_hash: str | None = None,
    everywhere: bool = False,
) -> Call[Answer]:
    """Changes an account and ends its sessions and access tokens (`everywhere`: its API tokens, too).

    Answers ok, not_found, conflict (not the epoch that was expected) or refused (the last administrator).
    """
    rest: list[Arg] = []
    if roles is not None:
        rest += ("roles", encode_roles(roles))
    if disabled is not None:
        rest += ("disabled", "1" if disabled else "")
    if password_hash is not None:
        rest += ("password", password_hash)
    args: tuple[tuple[str, Arg], ...] = (
        ("username", username),
        ("expected", "" if expected_epoch is None else str(expected_epoch)),
        ("everywhere", int(everywhere)),
    )
    return Call(SCRIPTS.load("account_change"), keys.named(account=keys.account(username)), args, answer, rest)


def delete_account(username: str) -> Call[Answer]:
    """Removes an account, its personal API tokens and its saved views.

    Answers ok, not_found, or refused (the last administrator).
    """
    account_keys = keys.named(
        accounts=keys.ACCOUNTS,
        account=keys.account(username),
        tokens=keys.API_TOKENS,
        owned=keys.api_tokens_of(username),
        sessions=keys.sessions_of(username),
        views=keys.views_of(username),
    )
    return Call(SCRIPTS.load("account_delete"), account_keys, (("username", username),), answer)


def list_accounts(*, offset: int, count: int) -> Call[tuple[tuple[AccountInfo, ...], int]]:
    """A page of accounts by name, and how many there are."""

    def read(raw: Sequence[Any]) -> tuple[tuple[AccountInfo, ...], int]:
        rows = [[value.decode() for value in raw[i : i + 9]] for i in range(1, len(raw), 9)]
        return tuple(_account_info(*row) for row in rows), int(raw[0])

    args: tuple[tuple[str, Arg], ...] = (("offset", offset), ("count", count))
    return Call(SCRIPTS.load("account_list"), keys.named(accounts=keys.ACCOUNTS), args, read)


def account_info(username: str) -> Call[AccountInfo | None]:
    """One account as lists show it; None if there is none."""

    def read(raw: Sequence[bytes]) -> AccountInfo | None:
        return _account_info(*(value.decode() for value in raw)) if raw else None

    return Call(
        SCRIPTS.load("account_show"), keys.named(account=keys.account(username)), (("username", username),), read
    )


def note_login(username: str) -> Call[Answer]:
    """Notes that the account logged in just now."""
    return Call(SCRIPTS.load("account_seen"), keys.named(account=keys.account(username)), (), answer)


def read_token(username: str, jti: str) -> Call[Standing | None]:
    """What the account of a token may do; None when the account is gone or disabled, or the token given up."""

    def read(raw: Sequence[bytes]) -> Standing | None:
        return Standing(username, decode_roles(raw[0].decode()), int(raw[1])) if raw else None

    token_keys = keys.named(account=keys.account(username), spent=keys.spent_token(jti))
    return Call(SCRIPTS.load("token_read"), token_keys, (), read)


def spend_token(jti: str, *, ttl_ms: int) -> Call[Answer]:
    """Ends a token before its time: ok, or already_done if that was done before."""
    return Call(SCRIPTS.load("token_spend"), keys.named(spent=keys.spent_token(jti)), (("ttl_ms", ttl_ms),), answer)


def decode_roles(text: str) -> tuple[Role, ...]:
    """Reads stored roles; a name this version does not know gives nothing."""
    return tuple(Role(name) for name in text.split(",") if name in Role.__members__.values())


def encode_roles(roles: Sequence[Role]) -> str:
    """Roles as they are stored, each once."""
    return ",".join(dict.fromkeys(roles))


def _account_info(
    username: str,
    has_password: str,
    roles: str,
    origin: str,
    disabled: str,
    created: str,
    changed: str,
    last_login: str,
    epoch: str,
) -> AccountInfo:
    return AccountInfo(
        username,
        has_password == "1",  # noqa: S105 -- whether there is one
        decode_roles(roles),
        origin,
        disabled == "1",
        int(created or 0),
        int(changed or 0),
        int(last_login) if last_login else None,
        int(epoch or 0),
    )
