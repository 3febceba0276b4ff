"""Settings of accounts, tokens and sessions."""

import ipaddress
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from leaseforge.errors import FieldProblem, SettingsError
from leaseforge.settings import flag, seconds, setting, whole
from leaseforge_auth.accounts import USERNAME, DeclaredAccount
from leaseforge_auth.addresses import Network, is_loopback
from leaseforge_auth.passwords import is_encoded_hash, length_problem
from leaseforge_auth.roles import Role

MIN_SECRET_BYTES = 32


class _UserEntry(Struct, forbid_unknown_fields=True):
    """One entry of LEASEFORGE_USERS."""

    username: str
    roles: Annotated[list[Role], Meta(min_length=1)]
    password: str = ""
    password_hash: str = ""


def auth_secrets(text: str) -> tuple[str, ...]:
    """Parses one or more secrets separated by commas or line ends, the newest first."""
    found = tuple(part.strip() for part in text.replace("\n", ",").split(",") if part.strip())
    if not found or any(len(secret.encode()) < MIN_SECRET_BYTES for secret in found):
        raise ValueError(
            f"must be at least {MIN_SECRET_BYTES} bytes of random text, each if there are several separated by commas "
            "(try: openssl rand -base64 48)"
        )
    return found


def users(text: str) -> tuple[DeclaredAccount, ...]:
    """Parses a JSON list of {"username", "roles", "password" or "password_hash"}."""
    try:
        entries = msgspec.json.decode(text, type=list[_UserEntry])
    except msgspec.MsgspecError as error:
        # The message may quote no value: there are passwords in it.
        raise ValueError(f"must be a JSON list of users: {error}") from None
    return tuple(_declared(number, entry) for number, entry in enumerate(entries, 1))


def password(text: str) -> str:
    """Checks a password's length."""
    if problem := length_problem(text):
        raise ValueError(problem)
    return text


def username(text: str) -> str:
    """Checks a username."""
    if not USERNAME.fullmatch(text):
        raise ValueError("must be 1 to 64 of A-Z a-z 0-9 . _ @ + - and begin with a letter or digit")
    return text


def usernames(text: str) -> tuple[str, ...]:
    """Parses usernames separated by commas."""
    return tuple(dict.fromkeys(username(part.strip()) for part in text.split(",") if part.strip()))


def root_path(text: str) -> str:
    """Parses the path prefix: "/jobs", without a slash at the end; "/" is none."""
    path = text.rstrip("/")
    parts = path.split("/")
    if path and (parts[0] or any(not part.replace("-", "").replace("_", "").isalnum() for part in parts[1:])):
        raise ValueError('must be a path of letters, digits, "-" and "_", such as /jobs')
    return path


def web_url(text: str) -> str:
    """Parses the public address of the console. Plain http is for a loopback address only."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("must be the address browsers use, such as https://jobs.example.com")
    if parts.scheme == "http" and not is_loopback(parts.netloc):
        raise ValueError("must be https: over plain http a session could be stolen on the way")
    return text.rstrip("/")


def networks(text: str) -> tuple[Network, ...]:
    """Parses addresses and networks separated by commas."""
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """Who may log in, what signs tokens, and how long both last."""

    auth_secret: tuple[str, ...] = setting(
        "LEASEFORGE_AUTH_SECRET",
        parse=auth_secrets,
        secret=True,
        help="signs access tokens; several separated by commas, the newest first: all are accepted",
    )
    auth_ttl_s: float = setting(
        "LEASEFORGE_AUTH_TTL",
        default=12 * 3600.0,
        parse=seconds(60, 7 * 86_400),
        help="how long an access token is valid",
    )
    session_idle_s: float = setting(
        "LEASEFORGE_SESSION_IDLE",
        default=2 * 3600.0,
        parse=seconds(60, 7 * 86_400),
        help="a browser session ends after that long without a request",
    )
    session_absolute_s: float = setting(
        "LEASEFORGE_SESSION_TTL",
        default=12 * 3600.0,
        parse=seconds(60, 30 * 86_400),
        help="a browser session ends that long after login",
    )
    admin_user: str = setting(
        "LEASEFORGE_ADMIN_USER", default="admin", parse=username, help="name of the first administrator"
    )
    admin_password: str = setting(
        "LEASEFORGE_ADMIN_PASSWORD",
        default="",
        parse=password,
        secret=True,
        help="password of the first administrator; without it no such account is made",
    )
    users: tuple[DeclaredAccount, ...] = setting(
        "LEASEFORGE_USERS",
        default=(),
        parse=users,
        secret=True,
        help='accounts as JSON: [{"username": "ada", "roles": ["operator"], "password": "..."}]',
    )
    web_url: str = setting(
        "LEASEFORGE_WEB_URL", default="", parse=web_url, help="address browsers use; https behind a TLS proxy"
    )
    root_path: str = setting(
        "LEASEFORGE_ROOT_PATH", default="", parse=root_path, help="path prefix under which a proxy serves everything"
    )
    trusted_proxies: tuple[Network, ...] = setting(
        "LEASEFORGE_TRUSTED_PROXIES",
        default=(),
        parse=networks,
        help="addresses and networks whose X-Forwarded-For and -Prefix are believed, separated by commas",
    )
    password_login: bool = setting(
        "LEASEFORGE_PASSWORD_LOGIN",
        default=True,
        parse=flag,
        help="off: passwords are for the accounts of LEASEFORGE_BREAK_GLASS only",
    )
    break_glass: tuple[str, ...] = setting(
        "LEASEFORGE_BREAK_GLASS",
        default=(),
        parse=usernames,
        help="accounts that may log in with a password even so, for the day the provider is away",
    )
    audit_keep: int = setting(
        "LEASEFORGE_AUDIT_KEEP",
        default=100_000,
        parse=whole(1_000, 10_000_000),
        help="entries of the audit trail that are kept, two an action; older ones are dropped",
    )
    declared_accounts: tuple[DeclaredAccount, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Combines what several settings say together. Raises SettingsError."""
        accounts = self.users
        if self.admin_password:
            accounts += (DeclaredAccount(self.admin_user, (Role.ADMIN,), password=self.admin_password),)
        names = [account.username for account in accounts]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            problem = f"names {', '.join(twice)} twice (LEASEFORGE_ADMIN_USER counts too)"
            raise SettingsError([FieldProblem("LEASEFORGE_USERS", problem)])
        if urlsplit(self.web_url).path not in ("", self.root_path):
            problem = "must have no path, or that of LEASEFORGE_ROOT_PATH"
            raise SettingsError([FieldProblem("LEASEFORGE_WEB_URL", problem)])
        if self.break_glass and self.password_login:
            problem = "means nothing unless LEASEFORGE_PASSWORD_LOGIN is off"
            raise SettingsError([FieldProblem("LEASEFORGE_BREAK_GLASS", problem)])
        object.__setattr__(self, "declared_accounts", accounts)

    @property
    def is_https(self) -> bool:
        """Whether browsers come over https."""
        return self.web_url.startswith("https:")


def _declared(number: int, entry: _UserEntry) -> DeclaredAccount:
    try:
        username(entry.username)
        if bool(entry.password) == bool(entry.password_hash):
            raise ValueError("needs either password or password_hash")
        if entry.password:
            password(entry.password)
        elif not is_encoded_hash(entry.password_hash):
            raise ValueError("password_hash must be an argon2id hash ($argon2id$...)")
    except ValueError as error:
        raise ValueError(f"user {number}: {error}") from None
    return DeclaredAccount(entry.username, tuple(entry.roles), entry.password, entry.password_hash)
