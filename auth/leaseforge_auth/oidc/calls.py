"""What single sign-on asks of Redis, as calls that a store carries out."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, answer
from leaseforge_auth import keys
from leaseforge_auth.calls import SCRIPTS, Account, decode_roles, encode_roles
from leaseforge_auth.oidc.people import Person
from leaseforge_auth.oidc.returning import Target
from leaseforge_auth.roles import Role

LOGIN_TTL_MS = 10 * 60_000
CODE_TTL_MS = 60_000
MOST_OF_ONE_ADDRESS = 200


@dataclass(frozen=True, slots=True)
class Begun:
    """A login under way, as it was begun."""

    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    target: Target


@dataclass(frozen=True, slots=True)
class Taken:
    """A login that has come back; `begun` is None if another browser brought it."""

    begun: Begun | None


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who a person is here: created, ok, refused (disabled), empty (no roles) or conflict (no name is free).

    `username` is '' where there is no account.
    """

    answer: Answer
    username: str
    epoch: int


def begin(state: str, browser: str, login: Begun, *, address: str) -> Call[Answer]:
    """Remembers a login that goes to the provider: ok."""
    args: tuple[tuple[str, Arg], ...] = (
        ("digest", keys.oidc_state_digest(state)),
        ("browser", keys.oidc_browser_digest(browser)),
        ("nonce", login.nonce),
        ("verifier", login.verifier),
        ("target", login.target.address),
        ("is_local", int(login.target.is_local)),
        ("ttl_ms", LOGIN_TTL_MS),
        ("most", MOST_OF_ONE_ADDRESS),
    )
    login_keys = keys.named(login=keys.oidc_login(state), begun=keys.oidc_begun(address))
    return Call(SCRIPTS.load("oidc_begin"), login_keys, args, answer)


def take(state: str, browser: str) -> Call[Taken | None]:
    """Ends a login that has come back; None for one that is not (or no longer) under way."""

    def read(raw: Sequence[bytes]) -> Taken | None:
        if not raw:
            return None
        is_same, nonce, verifier, target, is_local = (value.decode() for value in raw)
        return Taken(Begun(nonce, verifier, Target(target, is_local == "1")) if is_same else None)

    login_keys = keys.named(login=keys.oidc_login(state))
    return Call(SCRIPTS.load("oidc_take"), login_keys, (("browser", keys.oidc_browser_digest(browser)),), read)


def sign_in(person: Person, roles: Sequence[Role]) -> Call[SignedIn]:
    """The account of a person, made if it is new, with these roles."""

    def read(raw: Sequence[bytes]) -> SignedIn:
        said, username, epoch = (value.decode() for value in raw)
        return SignedIn(Answer(said), username, int(epoch or 0))

    name, spare = person.usernames
    args: tuple[tuple[str, Arg], ...] = (
        ("digest", person.digest),
        ("roles", encode_roles(roles)),
        ("name", name),
        ("spare", spare),
    )
    account_keys = keys.named(accounts=keys.ACCOUNTS, person=keys.person(person.digest))
    return Call(SCRIPTS.load("oidc_sign_in"), account_keys, args, read)


def store_code(code: str, account: Account) -> Call[Answer]:
    """Keeps a one-time code for a login that has succeeded: ok."""
    args: tuple[tuple[str, Arg], ...] = (
        ("username", account.username),
        ("epoch", str(account.epoch)),
        ("ttl_ms", CODE_TTL_MS),
    )
    return Call(SCRIPTS.load("oidc_code_store"), keys.named(code=keys.oidc_code(code)), args, answer)


def spend_code(code: str) -> Call[Account | None]:
    """The account a one-time code stands for; None if the code is not good or the account was changed since."""

    def read(raw: Sequence[bytes]) -> Account | None:
        if not raw:
            return None
        username, roles, epoch = (value.decode() for value in raw)
        return Account(username, "", decode_roles(roles), int(epoch), origin="oidc", is_disabled=False)

    return Call(SCRIPTS.load("oidc_code_spend"), keys.named(code=keys.oidc_code(code)), (), read)
