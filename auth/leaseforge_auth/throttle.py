"""The login throttle: failed attempts slow down an account from one address, and one address over all accounts."""

from dataclasses import dataclass
from math import ceil

from leaseforge.answers import Answer
from leaseforge.calls import Arg, Call, answer
from leaseforge.store import Store
from leaseforge_auth import keys
from leaseforge_auth.calls import SCRIPTS
from leaseforge_auth.errors import TooManyAttempts


@dataclass(frozen=True, slots=True)
class Pace:
    """How many attempts go without waiting, and how the wait grows then (doubling up to the cap)."""

    free_for_account: int = 5
    free_for_address: int = 30
    base_ms: int = 1_000
    cap_ms: int = 60_000
    forget_ms: int = 15 * 60_000


class LoginThrottle:
    """Counts attempts in Redis, where all server processes see them. Whoever is slowed down is never locked out."""

    def __init__(self, store: Store, pace: Pace | None = None) -> None:
        self._store = store
        self._pace = pace or Pace()

    async def charge(self, username: str, address: str) -> None:
        """Count an attempt before it is looked at; raises TooManyAttempts while the caller has to wait."""
        wait_ms = await self._store.run(self._attempt(username, address))
        if wait_ms > 0:
            raise TooManyAttempts(ceil(wait_ms / 1000))

    async def succeeded(self, username: str, address: str) -> None:
        """Forget the failures of this account from this address."""
        call: Call[Answer] = Call(SCRIPTS.load("login_success"), _places(username, address), (), answer)
        await self._store.run(call)

    def _attempt(self, username: str, address: str) -> Call[int]:
        pace = self._pace
        args: tuple[tuple[str, Arg], ...] = (
            ("pair_free", pace.free_for_account),
            ("address_free", pace.free_for_address),
            ("base_ms", pace.base_ms),
            ("cap_ms", pace.cap_ms),
            ("forget_ms", pace.forget_ms),
        )
        return Call(SCRIPTS.load("login_attempt"), _places(username, address), args, int)


def _places(username: str, address: str) -> tuple[tuple[str, str], ...]:
    pair, alone = keys.attempts(username, address), keys.attempts(address)
    return keys.named(pair=pair, address=alone)
