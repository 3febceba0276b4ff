"""The accounts of people: made, changed, disabled, removed. Each change ends what the account was given before."""

import secrets
from collections.abc import Sequence

from leaseforge.answers import Answer
from leaseforge.calls import Call
from leaseforge.errors import BadInput, FieldProblem
from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.accounts import USERNAME
from leaseforge_auth.errors import (
    LastAdministrator,
    NoPassword,
    UserChanged,
    UserFromSettings,
    UsernameTaken,
    UserNotFound,
)
from leaseforge_auth.passwords import Passwords, length_problem
from leaseforge_auth.roles import Role

_GENERATED_BYTES = 15


class Users:
    """What administrators do to accounts, and everybody to their own password."""

    def __init__(self, store: Store, passwords: Passwords) -> None:
        self._store = store
        self._passwords = passwords

    async def listed(self, *, offset: int, limit: int) -> tuple[tuple[calls.AccountInfo, ...], int]:
        """A page of accounts by name, and how many there are."""
        return await self._store.run(calls.list_accounts(offset=offset, count=limit))

    async def show(self, username: str) -> calls.AccountInfo:
        """One account. Raises UserNotFound."""
        info = await self._store.run(calls.account_info(username)) if USERNAME.fullmatch(username) else None
        if info is None:
            raise UserNotFound(username)
        return info

    async def create(self, username: str, *, roles: Sequence[Role], password: str = "", origin: calls.Origin) -> None:
        """Makes an account. Raises BadInput, UsernameTaken, TooBusy."""
        if not USERNAME.fullmatch(username):
            words = "must be 1 to 64 of A-Z a-z 0-9 . _ @ + - and begin with a letter or digit"
            raise BadInput([FieldProblem("username", words)])
        encoded = await self._hashed(password) if password or origin != "oidc" else ""
        made = calls.create_account(username, password_hash=encoded, roles=roles, origin=origin)
        if await self._store.run(made) is not Answer.CREATED:
            raise UsernameTaken(username)

    async def change(
        self,
        username: str,
        *,
        roles: Sequence[Role] | None = None,
        disabled: bool | None = None,
        password: str | None = None,
        expected_epoch: int | None = None,
    ) -> None:
        """Changes an account as an administrator does; only the very account somebody saw, if they say which.

        Raises BadInput, UserNotFound, UserFromSettings, UserChanged, LastAdministrator, TooBusy.
        """
        known = await self.show(username)
        if expected_epoch not in (None, known.epoch):
            raise UserChanged(username)
        if known.origin == "settings" and (roles is not None or password is not None):
            raise UserFromSettings(username)
        encoded = None if password is None else await self._hashed(password)
        await self._change(
            username,
            calls.change_account(
                username, expected_epoch=known.epoch, roles=roles, disabled=disabled, password_hash=encoded
            ),
        )

    async def set_own_password(self, account: calls.Account, password: str) -> calls.Account:
        """Changes the password of an account that has just shown its old one; the account as it is then.

        Raises BadInput, UserFromSettings, NoPassword, UserChanged, TooBusy.
        """
        if account.is_from_settings:
            raise UserFromSettings(account.username)
        if not account.password_hash:
            raise NoPassword(account.username)
        encoded = await self._hashed(password)
        changed = calls.change_account(account.username, expected_epoch=account.epoch, password_hash=encoded)
        await self._change(account.username, changed)
        fresh = await self._store.run(calls.read_account(account.username))
        if fresh is None:
            raise UserNotFound(account.username)
        return fresh

    async def log_out_everywhere(self, username: str, *, expected_epoch: int | None = None) -> None:
        """Ends all sessions, access tokens and personal API tokens of an account. Raises UserNotFound, UserChanged."""
        await self._change(username, calls.change_account(username, expected_epoch=expected_epoch, everywhere=True))

    async def delete(self, username: str) -> None:
        """Removes an account. Raises UserNotFound, UserFromSettings, LastAdministrator."""
        if (await self.show(username)).origin == "settings":
            raise UserFromSettings(username)
        self._check(username, await self._store.run(calls.delete_account(username)))

    async def _change(self, username: str, change: Call[Answer]) -> None:
        self._check(username, await self._store.run(change))

    def _check(self, username: str, answer: Answer) -> None:
        match answer:
            case Answer.NOT_FOUND:
                raise UserNotFound(username)
            case Answer.CONFLICT:
                raise UserChanged(username)
            case Answer.REFUSED:
                raise LastAdministrator(username)

    async def _hashed(self, password: str) -> str:
        if problem := length_problem(password):
            raise BadInput([FieldProblem("password", problem)])
        return await self._passwords.hash(password)


def generated_password() -> str:
    """A password of 120 random bits, to be told once."""
    return secrets.token_urlsafe(_GENERATED_BYTES)
