"""From a credential to an identity: what both the API's bearer tokens and the console's sessions go through."""

from collections.abc import Callable
from dataclasses import dataclass

from leaseforge.answers import Answer
from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.errors import NotAuthenticated
from leaseforge_auth.identity import Identity
from leaseforge_auth.roles import permissions_of
from leaseforge_auth.shared_reads import SharedReads
from leaseforge_auth.tokens import LEEWAY_S, Claims, TokenKeys

REFRESHABLE_S = 7 * 86_400
"""A token can be traded for a new one until this long after its login."""


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new access token and how long it is valid."""

    token: str
    expires_in_s: int


class AccessTokens:
    """Hands out access tokens, reads them back and ends them. `is_alone` as of SharedReads."""

    def __init__(
        self, store: Store, *, keys: TokenKeys, ttl_s: int, is_alone: Callable[[], bool] = lambda: True
    ) -> None:
        self._store = store
        self._keys = keys
        self._ttl_s = ttl_s
        self._standings = SharedReads(self._read_standing, is_alone=is_alone)

    async def _read_standing(self, token: tuple[str, str]) -> calls.Standing | None:
        return await self._store.run(calls.read_token(*token))

    def issue(self, account: calls.Account) -> IssuedToken:
        """A token for an account that has just logged in."""
        return IssuedToken(self._keys.issue(account.username, epoch=account.epoch, ttl_s=self._ttl_s), self._ttl_s)

    async def refresh(self, claims: Claims, *, now_s: float) -> IssuedToken:
        """A new token for a valid one, which is worth nothing from now on; until 7 days after the login.

        Raises NotAuthenticated when it is time to log in again, and for a token that was traded before.
        """
        left_s = int(claims.logged_in_at + REFRESHABLE_S - now_s)
        if left_s <= 0:
            raise NotAuthenticated("the login is too long ago: log in again", had_credential=True)
        if await self.revoke(claims, now_s=now_s) is not Answer.OK:
            raise NotAuthenticated("the token was traded for another one before", had_credential=True)
        ttl_s = min(self._ttl_s, left_s)
        token = self._keys.issue(
            claims.username, epoch=claims.epoch, ttl_s=ttl_s, now_s=now_s, logged_in_at=claims.logged_in_at
        )
        return IssuedToken(token, ttl_s)

    async def identify(self, token: str) -> tuple[Identity, Claims]:
        """Who shows this token, with the roles of this moment.

        Raises NotAuthenticated also for a good token whose account was changed, disabled or deleted since.
        """
        claims = self._keys.read(token)
        standing = await self._standings.get((claims.username, claims.jti))
        if standing is None or standing.epoch != claims.epoch:
            raise NotAuthenticated("the token is not valid any more: log in again", had_credential=True)
        return Identity(claims.username, standing.roles, permissions_of(standing.roles), "token"), claims

    async def revoke(self, claims: Claims, *, now_s: float) -> Answer:
        """End a token before its time, and say whether it was: ok or already_done.

        It stays remembered until no server would accept it anyway.
        """
        left_s = max(1.0, claims.expires_at - now_s + 2 * LEEWAY_S)
        return await self._store.run(calls.spend_token(claims.jti, ttl_ms=int(left_s * 1000)))
