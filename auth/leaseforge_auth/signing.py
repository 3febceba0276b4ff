"""Keys made from LEASEFORGE_AUTH_SECRET, one for each purpose: what was signed for one is worth nothing elsewhere.

The secret itself signs nothing.
"""

import hashlib
import hmac
from collections.abc import Sequence


def derive(secret: str, purpose: str) -> bytes:
    """The key of a secret for one purpose, such as "leaseforge access token"."""
    return hmac.digest(secret.encode(), purpose.encode(), "sha256")


def key_id(key: bytes) -> str:
    """A name for a key that says nothing about it."""
    return hashlib.sha256(b"key id " + key).hexdigest()[:16]


class KeyRing:
    """The keys of all secrets for one purpose: the newest signs, all are accepted."""

    def __init__(self, secrets_newest_first: Sequence[str], purpose: str) -> None:
        keys = [derive(secret, purpose) for secret in secrets_newest_first]
        self.newest_id = key_id(keys[0])
        self._keys = {key_id(key): key for key in keys}

    @property
    def newest(self) -> bytes:
        """The key to sign with."""
        return self._keys[self.newest_id]

    def get(self, name: str) -> bytes | None:
        """The key of this name, None if it is not (or no longer) one of ours."""
        return self._keys.get(name)
