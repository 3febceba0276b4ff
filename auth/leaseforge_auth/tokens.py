"""Access tokens: JWTs this product makes and reads itself, so that keys can be rotated and every claim is checked.

A token says who its bearer is and nothing about what they may do: roles are read from the account on each request.
The account's epoch at login is inside, so that a password change or a disabled account ends all tokens at once.
"""

import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

import jwt

from leaseforge_auth.errors import NotAuthenticated
from leaseforge_auth.signing import KeyRing

ISSUER = "leaseforge"
AUDIENCE = "leaseforge-api"
# One type per kind of signed text: a token made for another purpose with the same secret is never an access token.
TOKEN_TYPE = "at+jwt"  # noqa: S105 - a media type, not a secret
ALGORITHM = "HS256"
LEEWAY_S = 30
MAX_TOKEN_CHARACTERS = 4096
_MOST_SEEN = 4096


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says: the account, its epoch when it was made, the token's own id.

    Its end and the login it goes back to are Unix times in s.
    """

    username: str
    epoch: int
    jti: str
    expires_at: int
    logged_in_at: int

    @property
    def expires_at_ms(self) -> int:
        """The same in ms."""
        return self.expires_at * 1000


class TokenKeys:
    """Signs with the newest secret and accepts all: put a new one in front, drop the old one a lifetime later."""

    def __init__(self, secrets_newest_first: Sequence[str]) -> None:
        self._keys = KeyRing(secrets_newest_first, "leaseforge access token")
        self._seen: dict[bytes, Claims] = {}

    def issue(
        self, username: str, *, epoch: int, ttl_s: int, now_s: float | None = None, logged_in_at: int | None = None
    ) -> str:
        """A new token for this account, valid for `ttl_s` seconds; the login is now unless it goes back further."""
        issued_at = int(time.time() if now_s is None else now_s)
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": username,
            "iat": issued_at,
            "exp": issued_at + ttl_s,
            "jti": secrets.token_urlsafe(16),
            "epoch": epoch,
            "auth_time": issued_at if logged_in_at is None else logged_in_at,
        }
        headers = {"kid": self._keys.newest_id, "typ": TOKEN_TYPE}
        return jwt.encode(claims, self._keys.newest, algorithm=ALGORITHM, headers=headers)

    def read(self, token: str) -> Claims:
        """The claims of a token made by us for this API and still in time; anything else raises NotAuthenticated.

        Clocks of several servers may differ by 30 s. A token that was found good is known again by its digest: of
        all that is checked only the time can change.
        """
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        seen = self._seen.get(digest)
        if seen is not None and seen.expires_at > time.time() - LEEWAY_S:
            return seen
        claims = self._verified(token)
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[digest] = claims
        return claims

    def _verified(self, token: str) -> Claims:
        try:
            if len(token) > MAX_TOKEN_CHARACTERS:
                raise jwt.InvalidTokenError
            header = jwt.get_unverified_header(token)
            key = self._keys.get(str(header.get("kid")))
            if key is None or header.get("typ") != TOKEN_TYPE:
                raise jwt.InvalidTokenError
            claims = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                leeway=LEEWAY_S,
                options={"require": ["iss", "aud", "sub", "iat", "exp", "jti", "epoch", "auth_time"]},
            )
        except (jwt.InvalidTokenError, ValueError) as error:
            raise NotAuthenticated("the token is not valid", had_credential=True) from error
        numbers = (claims["epoch"], claims["auth_time"])
        if not all(type(number) is int for number in numbers) or not claims["sub"] or not claims["jti"]:
            raise NotAuthenticated("the token is not valid", had_credential=True)
        return Claims(claims["sub"], claims["epoch"], claims["jti"], int(claims["exp"]), claims["auth_time"])
