"""The cookie a login is bound to, from its beginning until it comes back."""

import hashlib
import re
import secrets
from dataclasses import dataclass

from litestar.datastructures import Cookie

_BYTES = 32
_VALUE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
LIFETIME_S = 600


@dataclass(frozen=True, slots=True)
class BrowserCookie:
    """Tells one browser from another while somebody is at the provider; it lets nobody in.

    On https nobody but this very host can plant it.
    """

    name: str
    is_secure: bool

    def value(self, known: str | None) -> str:
        """The value a browser has already, so that logins in two tabs do not end each other; else a new one."""
        return known if known and _VALUE.fullmatch(known) else secrets.token_urlsafe(_BYTES)

    def holding(self, value: str) -> Cookie:
        """The cookie to send at the beginning of a login."""
        return Cookie(
            key=self.name,
            value=value,
            path="/",
            max_age=LIFETIME_S,
            secure=self.is_secure,
            httponly=True,
            # Strict would not be sent on the way back from the provider.
            samesite="lax",
        )


def browser_cookie(*, is_secure: bool, root_path: str) -> BrowserCookie:
    """The cookie of this installation; under a path prefix its name is its own."""
    name = "__Host-leaseforge-sso" if is_secure else "leaseforge-sso"
    if root_path:
        name += f"-{hashlib.sha256(root_path.encode()).hexdigest()[:8]}"
    return BrowserCookie(name, is_secure)
