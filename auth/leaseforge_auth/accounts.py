"""Accounts: who can log in with a password, and where the first ones come from."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import structlog

from leaseforge import events
from leaseforge.answers import Answer
from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.audit.action import Action
from leaseforge_auth.passwords import Passwords
from leaseforge_auth.roles import Role
from leaseforge_auth.throttle import LoginThrottle

USERNAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}", re.ASCII)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DeclaredAccount:
    """An account the settings name, with its password in clear or already hashed (argon2id)."""

    username: str
    roles: tuple[Role, ...]
    password: str = field(default="", repr=False)
    password_hash: str = field(default="", repr=False)


class Accounts:
    """Checks passwords and keeps the accounts named by the settings in step with them.

    With `password_for` only the accounts it names have a password that counts.
    """

    def __init__(
        self,
        store: Store,
        *,
        passwords: Passwords,
        throttle: LoginThrottle,
        password_for: Collection[str] | None = None,
    ) -> None:
        self.password_for = password_for
        self._store = store
        self._passwords = passwords
        self._throttle = throttle

    async def authenticate(
        self, username: str, password: str, *, address: str, action: Action | None = None
    ) -> calls.Account | None:
        """The account, if the password is its own and it is not disabled; None for every other case alike.

        An unknown name costs as long as a wrong password. Raises TooManyAttempts for a caller (`address`, see
        `addresses.client_address`) that has to wait, TooBusy when too many checks are waiting already. The audited
        `action` of somebody unknown begins once the throttle lets the attempt through: whoever is slowed down cannot
        fill the trail.
        """
        await self._throttle.charge(username, address)
        account = None
        if USERNAME.fullmatch(username):
            account = await self._store.run(calls.read_account(username))
        if action is not None and not action.has_begun:
            # A name nobody has is not written down: people type their password there.
            action.known(account.username if account else "")
            await action.begin()
        is_right = await self._passwords.verify(account.password_hash if account else None, password)
        is_open = self.password_for is None or username in self.password_for
        if account is None or not is_right or account.is_disabled or not is_open:
            if action is not None:
                action.note(cause=_cause(account, is_right=is_right, is_open=is_open))
            log.warning(events.LOGIN_REFUSED, username=account.username if account else None)
            return None
        await self._throttle.succeeded(username, address)
        await self._store.run(calls.note_login(username))
        if self.password_for is not None:
            log.warning(events.BREAK_GLASS_USED, username=username)
            if action is not None:
                action.note(break_glass=True)
        log.info(events.LOGIN_SUCCEEDED, username=username)
        return account

    async def bootstrap(self, declared: Sequence[DeclaredAccount], *, has_sso: bool = False) -> None:
        """Bring the accounts of the settings into being and up to date; says so in the log when nobody can log in.

        With `has_sso` people come by a provider, who need no account before.
        """
        for account in declared:
            await self._declare(account)
        if not has_sso and await self._store.run(calls.count_accounts()) == 0:
            log.warning(
                events.NO_ACCOUNTS,
                advice="nobody can log in: make an account (`leaseforge users create NAME --role admin --generate`), "
                "or set LEASEFORGE_ADMIN_PASSWORD or LEASEFORGE_USERS and restart",
            )

    async def _declare(self, declared: DeclaredAccount) -> None:
        known = await self._store.run(calls.read_account(declared.username))
        if known is not None and not known.is_from_settings:
            # Its password may be somebody's own by now, and a person of the provider has none: neither is overwritten.
            log.warning(
                events.ACCOUNT_DECLARATION_IGNORED,
                username=declared.username,
                origin=known.origin,
                advice="the settings name an account that was made otherwise, which stays as it is: take another name "
                f"in the settings, or delete it (`leaseforge users delete {declared.username}`) and restart",
            )
            return
        if known is not None and await self._is_current(declared, known):
            return
        encoded = declared.password_hash or await self._passwords.hash(declared.password)
        answer = await self._store.run(
            calls.declare_account(
                declared.username,
                password_hash=encoded,
                roles=declared.roles,
                replaces=known.password_hash if known else "",
            )
        )
        # A conflict means that another server, started with the same settings, was faster.
        if answer is not Answer.CONFLICT:
            log.info(events.ACCOUNT_DECLARED, username=declared.username, roles=calls.encode_roles(declared.roles))

    async def _is_current(self, declared: DeclaredAccount, known: calls.Account) -> bool:
        if known.roles != tuple(dict.fromkeys(declared.roles)):
            return False
        if declared.password_hash:
            return known.password_hash == declared.password_hash
        return await self._passwords.verify(known.password_hash, declared.password)


def _cause(account: calls.Account | None, *, is_right: bool, is_open: bool) -> str:
    """Why a login was refused, for the audit trail only: whoever was refused is told nothing."""
    if account is None:
        return "no such account"
    if not is_open:
        return "passwords are off for this account"
    return "the account is disabled" if is_right else "wrong password"
