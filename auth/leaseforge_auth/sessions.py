"""Browser sessions: an opaque id in a cookie, everything else on the server."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from leaseforge.answers import Answer
from leaseforge.store import Store
from leaseforge.texts import cut
from leaseforge_auth import calls, csrf, session_calls
from leaseforge_auth.cookies import SessionCookie
from leaseforge_auth.errors import SessionNotFound
from leaseforge_auth.identity import Identity
from leaseforge_auth.roles import permissions_of

_ID_BYTES = 32
_AGENT_BYTES = 200
_ASKED_AT_ONCE = 500
_ID_CHARACTERS = len(secrets.token_urlsafe(_ID_BYTES))


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session just opened: the id for the cookie, and the token its forms carry."""

    id: str = field(repr=False)
    csrf_token: str = field(repr=False)


class Sessions:
    """Opens, reads and ends sessions. They end after `idle_s` without a request, and `absolute_s` after login."""

    def __init__(self, store: Store, *, cookie: SessionCookie, idle_s: int, absolute_s: int) -> None:
        self.cookie = cookie
        self._store = store
        self._idle_ms = idle_s * 1000
        self._absolute_ms = absolute_s * 1000

    async def create(self, account: calls.Account, *, address: str = "", agent: str = "") -> NewSession | None:
        """A session with a new id for an account that has just logged in, from where and with what browser.

        None when the account was changed or disabled in that very moment.
        """
        session_id = secrets.token_urlsafe(_ID_BYTES)
        idle_ms = min(self._idle_ms, self._absolute_ms)
        opened = session_calls.open_session(
            session_id,
            username=account.username,
            epoch=account.epoch,
            idle_ms=idle_ms,
            address=address,
            agent=cut(agent, _AGENT_BYTES),
        )
        if await self._store.run(opened) is not Answer.OK:
            return None
        return NewSession(session_id, csrf.token_for(session_id))

    async def read(self, session_id: str, *, extend: bool = True) -> Identity | None:
        """Who the session belongs to, with the roles of this moment; None when it has ended.

        With `extend` off the request does not count as activity: for pages that ask by themselves.
        """
        if len(session_id) != _ID_CHARACTERS:
            return None
        found = await self._store.run(
            session_calls.read_session(session_id, idle_ms=self._idle_ms, absolute_ms=self._absolute_ms, extend=extend)
        )
        if found is None:
            return None
        username, roles = found
        return Identity(username, roles, permissions_of(roles), "session", csrf.token_for(session_id))

    async def ended(self, session_ids: Sequence[str]) -> frozenset[str]:
        """Which of these have ended, for any reason; asking keeps none alive. One question of Redis for 500."""
        gone: set[str] = set()
        for start in range(0, len(session_ids), _ASKED_AT_ONCE):
            asked = session_ids[start : start + _ASKED_AT_ONCE]
            call = session_calls.sessions_standing(asked, absolute_ms=self._absolute_ms)
            standing = await self._store.run(call)
            gone.update(one for one, is_good in zip(asked, standing, strict=True) if not is_good)
        return frozenset(gone)

    async def destroy(self, session_id: str) -> None:
        """End the session; one that has ended already is fine."""
        await self._store.run(session_calls.close_session(session_id))

    def public_id(self, session_id: str) -> str:
        """What lists call the session of this cookie."""
        return session_calls.public_id(session_id)

    async def listed(self, username: str) -> tuple[session_calls.SessionInfo, ...]:
        """The sessions of an account, newest first; 50 at most."""
        return await self._store.run(session_calls.list_sessions(username))

    async def revoke(self, username: str, public_id: str) -> None:
        """Ends one of an account's sessions. Raises SessionNotFound."""
        if await self._store.run(session_calls.revoke_session(username, public_id)) is Answer.NOT_FOUND:
            raise SessionNotFound(public_id)
