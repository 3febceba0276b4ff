"""What accounts, sessions and logins ask of Redis, as calls that a store carries out."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, answer
from leaseforge.scripts import ENGINE, Library
from leaseforge_auth import keys
from leaseforge_auth.roles import Role

SCRIPTS = Library(files("leaseforge_auth") / "lua", base=ENGINE)


@dataclass(frozen=True, slots=True)
class Account:
    """A user as stored. `epoch` rises with every change that must end what was handed out before."""

    username: str
    password_hash: str
    roles: tuple[Role, ...]
    epoch: int
    is_from_settings: bool
    is_disabled: bool


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
        return Account(username, password, decode_roles(roles), int(epoch), origin == "settings", disabled == "1")

    return Call(SCRIPTS.load("account_read"), _keys(account=keys.account(username)), (), read)


def count_accounts() -> Call[int]:
    """How many accounts there are."""
    return Call(SCRIPTS.load("account_count"), _keys(accounts=keys.ACCOUNTS), (), int)


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
    account_keys = _keys(accounts=keys.ACCOUNTS, account=keys.account(username))
    return Call(SCRIPTS.load("account_declare"), account_keys, args, answer)


def read_token(username: str, jti: str) -> Call[Standing | None]:
    """What the account of a token may do; None when the account is gone or disabled, or the token given up."""

    def read(raw: Sequence[bytes]) -> Standing | None:
        return Standing(username, decode_roles(raw[0].decode()), int(raw[1])) if raw else None

    token_keys = _keys(account=keys.account(username), spent=keys.spent_token(jti))
    return Call(SCRIPTS.load("token_read"), token_keys, (), read)


def spend_token(jti: str, *, ttl_ms: int) -> Call[Answer]:
    """Ends a token before its time."""
    return Call(SCRIPTS.load("token_spend"), _keys(spent=keys.spent_token(jti)), (("ttl_ms", ttl_ms),), answer)


def open_session(session_id: str, *, username: str, epoch: int, idle_ms: int) -> Call[Answer]:
    """Stores a new session: ok, or conflict if the account changed since its password was checked."""
    args: tuple[tuple[str, Arg], ...] = (("username", username), ("epoch", str(epoch)), ("idle_ms", idle_ms))
    session_keys = _keys(session=keys.session(session_id), account=keys.account(username))
    return Call(SCRIPTS.load("session_open"), session_keys, args, answer)


def read_session(
    session_id: str, *, idle_ms: int, absolute_ms: int, extend: bool
) -> Call[tuple[str, tuple[Role, ...]] | None]:
    """The session's username and what roles the account has now; None when the session has ended."""

    def read(raw: Sequence[bytes]) -> tuple[str, tuple[Role, ...]] | None:
        return (raw[0].decode(), decode_roles(raw[1].decode())) if raw else None

    args: tuple[tuple[str, Arg], ...] = (("idle_ms", idle_ms), ("absolute_ms", absolute_ms), ("extend", int(extend)))
    return Call(SCRIPTS.load("session_read"), _keys(session=keys.session(session_id)), args, read)


def close_session(session_id: str) -> Call[Answer]:
    """Ends a session."""
    return Call(SCRIPTS.load("session_close"), _keys(session=keys.session(session_id)), (), answer)


def decode_roles(text: str) -> tuple[Role, ...]:
    """Reads stored roles; a name this version does not know gives nothing."""
    return tuple(Role(name) for name in text.split(",") if name in Role.__members__.values())


def encode_roles(roles: Sequence[Role]) -> str:
    """Roles as they are stored, each once."""
    return ",".join(dict.fromkeys(roles))


def _keys(**named: str) -> tuple[tuple[str, str], ...]:
    """The keys in the order of the script's header, the guard first."""
    return (("guard", keys.GUARD), *named.items())
