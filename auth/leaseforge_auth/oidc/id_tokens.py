"""ID tokens: who the provider says has logged in. Every check is ours, and each failure has a name."""

import base64
import hashlib
import hmac
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
import msgspec

from leaseforge_auth.oidc.errors import SsoDenied
from leaseforge_auth.oidc.key_set import VerifyingKey

LEEWAY_S = 30
MAX_CHARACTERS = 32_768
_HASHES = {"RS256": hashlib.sha256, "ES256": hashlib.sha256, "EdDSA": hashlib.sha512}

FindKey = Callable[..., Awaitable[VerifyingKey | None]]
"""Called with kid and algorithm."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token must say, and how it may be signed."""

    issuer: str
    client_id: str
    nonce: str
    algorithms: tuple[str, ...]


async def read_id_token(
    token: object, expected: Expected, *, find_key: FindKey, access_token: str, now_s: float
) -> Mapping[str, Any]:
    """The claims of a token that is what it should be in every respect.

    Raises SsoDenied with the cause, SsoUnavailable or SsoMisconfigured when keys cannot be fetched.
    """
    if not isinstance(token, str) or not token:
        raise _refused("none", "the provider sent no ID token")
    if len(token) > MAX_CHARACTERS or token.count(".") != 2:
        raise _refused("form", "the ID token is not a signed JWT")
    header = _header(token)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in expected.algorithms:
        raise _refused("algorithm", "the ID token is signed in a way that is not taken")
    if "crit" in header or "b64" in header:
        raise _refused("crit", "the ID token asks for what is not known here")
    kid = header.get("kid")
    if kid is not None and (not isinstance(kid, str) or not kid or len(kid) > 256):
        raise _refused("kid", "the ID token names no proper key")
    key = await find_key(kid=kid, algorithm=algorithm)
    if key is None:
        raise _refused("kid", "the ID token is signed with a key the provider does not publish")
    claims = _verified(token, key)
    _check_parties(claims, expected)
    _check_times(claims, now_s)
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(), expected.nonce.encode()):
        raise _refused("nonce", "the ID token belongs to another login")
    if "at_hash" in claims:
        _check_access_token(claims["at_hash"], access_token, algorithm)
    return claims


def _header(token: str) -> Mapping[str, Any]:
    encoded = token.partition(".")[0]
    try:
        raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
        header = msgspec.json.decode(raw)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise _refused("form", "the ID token is not a signed JWT")
    return header


def _verified(token: str, key: VerifyingKey) -> Mapping[str, Any]:
    try:
        signed = jwt.PyJWS().decode_complete(token, key.key, algorithms=[key.algorithm])
        claims = msgspec.json.decode(signed["payload"])
    except (jwt.PyJWTError, ValueError, TypeError, msgspec.MsgspecError, RecursionError):
        raise _refused("signature", "the ID token is not signed by the provider") from None
    if not isinstance(claims, dict):
        raise _refused("form", "the ID token says nothing")
    return claims


def _check_parties(claims: Mapping[str, Any], expected: Expected) -> None:
    if claims.get("iss") != expected.issuer:
        raise _refused("issuer", "the ID token is another provider's")
    audience = claims.get("aud")
    listed = [audience] if isinstance(audience, str) else audience
    if not isinstance(listed, list) or expected.client_id not in listed:
        raise _refused("audience", "the ID token was made for another program")
    if not all(isinstance(entry, str) for entry in listed):
        raise _refused("audience", "the ID token does not say what it was made for")
    if (len(listed) > 1 or "azp" in claims) and claims.get("azp") != expected.client_id:
        raise _refused("azp", "the ID token was given to another program")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 1 <= len(subject) <= 255 or not subject.isprintable():
        raise _refused("subject", "the ID token names nobody")


def _check_times(claims: Mapping[str, Any], now_s: float) -> None:
    if _time(claims, "exp") <= now_s - LEEWAY_S:
        raise _refused("expired", "the ID token is out of date: check the clocks here and at the provider")
    if _time(claims, "iat") > now_s + LEEWAY_S:
        raise _refused("early", "the ID token is from the future: check the clocks here and at the provider")
    if "nbf" in claims and _time(claims, "nbf") > now_s + LEEWAY_S:
        raise _refused("early", "the ID token is not valid yet: check the clocks here and at the provider")


def _time(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _refused("times", f"the ID token has no proper {name}")
    return value


def _check_access_token(at_hash: object, access_token: str, algorithm: str) -> None:
    digest = _HASHES[algorithm](access_token.encode()).digest()
    half = base64.urlsafe_b64encode(digest[: len(digest) // 2]).decode().rstrip("=")
    if not access_token or not isinstance(at_hash, str) or not hmac.compare_digest(at_hash.encode(), half.encode()):
        raise _refused("at_hash", "the ID token belongs to another access token")


def _refused(what: str, message: str) -> SsoDenied:
    return SsoDenied(f"id_token_{what}", message)
