"""The provider's public keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

MOST_KEYS = 100
_MIN_RSA_BITS = 2048
_PARTS = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A key, its name ('' without one), and the one algorithm it is good for."""

    id: str
    algorithm: str
    key: PublicKey


def read_keys(document: Mapping[str, Any]) -> tuple[VerifyingKey, ...]:
    """The keys of a JWK set that can verify an ID token; others, shared secrets above all, are left out."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        return ()
    found = (_read_key(entry) for entry in listed[:MOST_KEYS] if isinstance(entry, dict))
    return tuple(key for key in found if key is not None)


def find_key(keys: tuple[VerifyingKey, ...], *, kid: str | None, algorithm: str) -> VerifyingKey | None:
    """The key a token names; for one that names none, the only key there is for its algorithm."""
    fitting = [key for key in keys if key.algorithm == algorithm and (kid is None or key.id == kid)]
    return fitting[0] if len(fitting) == 1 else None


def _read_key(entry: Mapping[str, Any]) -> VerifyingKey | None:
    kty, kid = entry.get("kty"), entry.get("kid", "")
    if kty not in _PARTS or not isinstance(kid, str) or entry.get("use", "sig") != "sig":
        return None
    operations = entry.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    # Only the public parts are looked at, whatever else is published.
    public = {"kty": kty} | {name: entry.get(name) for name in _PARTS[kty]}
    algorithm = {"RSA": "RS256", "EC": "ES256", "OKP": "EdDSA"}[kty]
    try:
        key = jwt.PyJWK(public, algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    if entry.get("alg", algorithm) not in (algorithm, "Ed25519" if kty == "OKP" else algorithm) or not _is_strong(key):
        return None
    return VerifyingKey(kid, algorithm, key)


def _is_strong(key: object) -> bool:
    if isinstance(key, RSAPublicKey):
        return key.key_size >= _MIN_RSA_BITS
    if isinstance(key, EllipticCurvePublicKey):
        return isinstance(key.curve, SECP256R1)
    return isinstance(key, Ed25519PublicKey)
