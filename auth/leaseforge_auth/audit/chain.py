"""How entries are sealed: each with a keyed hash over itself and the seal before it.

Whoever can write to Redis but does not know LEASEFORGE_AUTH_SECRET can neither change an entry, nor take one out, nor
put one in, nor cut off the newest or oldest without verification finding it. Not even this tells of somebody who
restores the whole trail, head included, as it once was: note down the head that `leaseforge audit verify` prints.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from leaseforge_auth.signing import KeyRing

PURPOSE = "leaseforge audit trail"
START = ""
"""What stands for the seal before the first entry."""


@dataclass(frozen=True, slots=True)
class Head:
    """A place in the trail: an entry's sequence and mac, and a seal over both that only we can make."""

    sequence: int = 0
    mac: str = START
    seal: str = ""


class Chain:
    """Makes and checks seals with the keys of one installation."""

    def __init__(self, secrets_newest_first: Sequence[str]) -> None:
        self._keys = KeyRing(secrets_newest_first, PURPOSE)

    @property
    def kid(self) -> str:
        """The name of the key new entries are sealed with."""
        return self._keys.newest_id

    def knows(self, kid: str) -> bool:
        """Whether entries sealed with this key can be checked here."""
        return self._keys.get(kid) is not None

    def mac(self, before: str, sequence: int, body: bytes, *, kid: str | None = None) -> str:
        """The seal of an entry behind the one with the seal `before`. Raises KeyError for an unknown key."""
        return self._digest(kid or self.kid, b"entry", before, sequence, body)

    def head(self, sequence: int, mac: str) -> Head:
        """The newest entry as the head to store."""
        return Head(sequence, mac, self._seal(b"head", sequence, mac))

    def anchor(self, sequence: int, mac: str) -> Head:
        """The last entry dropped as the anchor to store."""
        return Head(sequence, mac, self._seal(b"anchor", sequence, mac))

    def is_head(self, head: Head) -> bool:
        """Whether we made this head."""
        return self._is_sealed(b"head", head)

    def is_anchor(self, anchor: Head) -> bool:
        """Whether we made this anchor; the very beginning of a trail needs none."""
        return anchor == Head() or self._is_sealed(b"anchor", anchor)

    def _seal(self, kind: bytes, sequence: int, mac: str) -> str:
        return f"{self.kid}.{self._digest(self.kid, kind, mac, sequence, b'')}"

    def _is_sealed(self, kind: bytes, place: Head) -> bool:
        kid, _, _ = place.seal.partition(".")
        if not self.knows(kid):
            return False
        expected = f"{kid}.{self._digest(kid, kind, place.mac, place.sequence, b'')}"
        return hmac.compare_digest(place.seal.encode(), expected.encode())

    def _digest(self, kid: str, kind: bytes, before: str, sequence: int, body: bytes) -> str:
        key = self._keys.get(kid)
        if key is None:
            raise KeyError(kid)
        # Every part but the last has no space in it, so that two entries never read alike.
        return hmac.digest(key, b" ".join((kind, before.encode(), str(sequence).encode(), body)), "sha256").hex()
