"""Access tokens: ours are read back, everything else is refused."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest

from leaseforge_auth.errors import NotAuthenticated
from leaseforge_auth.tokens import ALGORITHM, AUDIENCE, ISSUER, LEEWAY_S, TOKEN_TYPE, TokenKeys

SECRET = "a secret of more than thirty-two bytes"
OTHER = "another secret of more than 32 bytes.."
KEYS = TokenKeys([SECRET])


def signing_key(secret: str = SECRET) -> bytes:
    return hmac.digest(secret.encode(), b"leaseforge access token", "sha256")


def key_id(secret: str = SECRET) -> str:
    return hashlib.sha256(b"key id " + signing_key(secret)).hexdigest()[:16]


def claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    known: dict[str, Any] = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "iat": now,
        "exp": now + 600,
        "jti": "token-1",
        "epoch": 7,
        "auth_time": now,
    }
    return {name: value for name, value in (known | changed).items() if value is not None}


def forged(changed: dict[str, Any], *, key: bytes | None = None, hash_name: str = "sha256", **headers: Any) -> str:
    """A token written by hand, so that no library stands between us and a wrong one."""
    header = {"alg": ALGORITHM, "kid": key_id(), "typ": TOKEN_TYPE} | headers
    head = ".".join(
        part({name: value for name, value in each.items() if value is not None}) for each in (header, claims(**changed))
    )
    signature = hmac.digest(signing_key() if key is None else key, head.encode(), hash_name)
    return f"{head}.{encoded(signature)}"


def part(value: dict[str, Any]) -> str:
    return encoded(json.dumps(value).encode())


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def unsigned() -> str:
    return f"{part({'alg': 'none', 'typ': TOKEN_TYPE, 'kid': key_id()})}.{part(claims())}."


def test_a_token_says_who_its_bearer_is() -> None:
    read = KEYS.read(KEYS.issue("ada", epoch=7, ttl_s=60))

    assert (read.username, read.epoch) == ("ada", 7)
    assert read.jti


def test_every_token_has_an_id_of_its_own() -> None:
    assert KEYS.read(KEYS.issue("ada", epoch=7, ttl_s=60)).jti != KEYS.read(KEYS.issue("ada", epoch=7, ttl_s=60)).jti


def test_our_own_forgery_tool_makes_valid_tokens_when_nothing_is_wrong() -> None:
    assert KEYS.read(forged({})).username == "ada"


def without(name: str) -> Callable[[], str]:
    return lambda: forged({name: None})


# Made when the test runs: a token made at import would be refused for its age, whatever else is wrong with it.
WRONG: dict[str, Callable[[], str]] = {
    "empty": lambda: "",
    "garbage": lambda: "a.b.c",
    "not ascii": lambda: "é" * 20,
    "too long": lambda: forged({"sub": "x" * 5_000}),
    "alg none": unsigned,
    "another algorithm": lambda: forged({}, hash_name="sha512", alg="HS512"),
    "signed with another key": lambda: forged({}, key=signing_key(OTHER)),
    "signed with the bare secret": lambda: forged({}, key=SECRET.encode()),
    "unknown kid": lambda: forged({}, kid="unknown"),
    "kid as a path": lambda: forged({}, kid="../../dev/null"),
    "kid as a number": lambda: forged({}, kid=7),
    "no kid": lambda: forged({}, kid=None),
    "a type of another purpose": lambda: forged({}, typ="JWT"),
    "another audience": lambda: forged({"aud": "another-api"}),
    "another issuer": lambda: forged({"iss": "somebody"}),
    "expired": lambda: forged({"exp": int(time.time()) - LEEWAY_S - 30}),
    "from the future": lambda: forged({"iat": int(time.time()) + LEEWAY_S + 60}),
    "not yet valid": lambda: forged({"nbf": int(time.time()) + LEEWAY_S + 60}),
    "epoch as text": lambda: forged({"epoch": "7"}),
    "login time as text": lambda: forged({"auth_time": "7"}),
    "subject as a number": lambda: forged({"sub": 7}),
    "empty subject": lambda: forged({"sub": ""}),
} | {f"without {name}": without(name) for name in ("aud", "iss", "exp", "iat", "jti", "sub", "epoch", "auth_time")}


@pytest.mark.parametrize("made", WRONG.values(), ids=WRONG.keys())
def test_anything_not_made_here_for_this_purpose_is_refused(made: Callable[[], str]) -> None:
    with pytest.raises(NotAuthenticated):
        KEYS.read(made())


@pytest.mark.parametrize("skew_s", [-20, 20])
def test_clocks_of_servers_may_differ_a_little(skew_s: int) -> None:
    token = KEYS.issue("ada", epoch=7, ttl_s=1, now_s=time.time() + skew_s)

    assert KEYS.read(token).username == "ada"


def test_a_changed_byte_breaks_the_signature() -> None:
    header, body, signature = KEYS.issue("ada", epoch=7, ttl_s=60).split(".")
    changed = ("B" if signature[0] != "B" else "C") + signature[1:]

    with pytest.raises(NotAuthenticated):
        KEYS.read(f"{header}.{body}.{changed}")


def test_a_new_secret_in_front_leaves_old_tokens_valid_until_the_old_secret_is_dropped() -> None:
    old = KEYS.issue("ada", epoch=7, ttl_s=60)
    both = TokenKeys([OTHER, SECRET])
    new = both.issue("ada", epoch=7, ttl_s=60)

    assert both.read(old).username == both.read(new).username == "ada"
    assert TokenKeys([OTHER]).read(new).username == "ada"
    with pytest.raises(NotAuthenticated):
        KEYS.read(new)
    with pytest.raises(NotAuthenticated):
        TokenKeys([OTHER]).read(old)


def test_the_key_id_tells_nothing_of_the_secret() -> None:
    assert SECRET not in json.dumps(jwt.get_unverified_header(KEYS.issue("ada", epoch=7, ttl_s=60)))
