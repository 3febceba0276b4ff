"""The session cookie: its name, when it may be set at all, and its attributes."""

import hashlib
from dataclasses import dataclass

from litestar.datastructures import Cookie

from leaseforge_auth.addresses import is_loopback


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The one cookie of the console.

    On https it carries the `__Host-` prefix, which no sibling domain can plant, and Secure. On plain http there is a
    session for a loopback address only: anywhere else the cookie could be read on the way.
    """

    name: str
    is_secure: bool
    max_age_s: int

    def holding(self, session_id: str) -> Cookie:
        """The cookie to send at login."""
        return self._cookie(session_id, self.max_age_s)

    def removed(self) -> Cookie:
        """The cookie that makes the browser forget the session."""
        return self._cookie("", 0)

    def may_travel_to(self, host: str | None) -> bool:
        """Whether a request that names this Host may use a session."""
        return self.is_secure or is_loopback(host or "")

    def _cookie(self, value: str, max_age_s: int) -> Cookie:
        return Cookie(
            key=self.name,
            value=value,
            path="/",
            max_age=max_age_s,
            secure=self.is_secure,
            httponly=True,
            # Strict would not be sent on the way back from a single sign-on provider.
            samesite="lax",
        )


def session_cookie(*, is_secure: bool, root_path: str, max_age_s: int) -> SessionCookie:
    """The cookie of this installation; under a path prefix its name is its own, so two behind one host do not clash."""
    name = "__Host-leaseforge" if is_secure else "leaseforge"
    if root_path:
        name += f"-{hashlib.sha256(root_path.encode()).hexdigest()[:8]}"
    return SessionCookie(name, is_secure, max_age_s)
