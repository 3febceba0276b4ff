"""Access tokens: ours are read back, everything else is refused."""

import base64
import hashlib
import hmac
import json
import time
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


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="empty"),
        pytest.param("a.b.c", id="garbage"),
        pytest.param("é" * 20, id="not ascii"),
        pytest.param("x" * 5_000, id="too long"),
        pytest.param(unsigned(), id="alg none"),
        pytest.param(forged({}, hash_name="sha512", alg="HS512"), id="another algorithm"),
        pytest.param(forged({}, key=signing_key(OTHER)), id="signed with another key"),
        pytest.param(forged({}, key=SECRET.encode()), id="signed with the bare secret"),
        pytest.param(forged({}, kid="unknown"), id="unknown kid"),
        pytest.param(forged({}, kid="../../dev/null"), id="kid as a path"),
        pytest.param(forged({}, kid=None), id="no kid"),
        pytest.param(forged({}, typ="JWT"), id="a type of another purpose"),
        pytest.param(forged({"aud": "another-api"}), id="another audience"),
        pytest.param(forged({"iss": "somebody"}), id="another issuer"),
        pytest.param(forged({"exp": int(time.time()) - LEEWAY_S - 30}), id="expired"),
        pytest.param(forged({"iat": int(time.time()) + LEEWAY_S + 60}), id="from the future"),
        pytest.param(forged({"epoch": "7"}), id="epoch as text"),
        pytest.param(forged({"sub": ""}), id="empty subject"),
        *(
            pytest.param(forged({name: None}), id=f"without {name}")
            for name in ("aud", "iss", "exp", "iat", "jti", "sub", "epoch")
        ),
    ],
)
def test_anything_not_made_here_for_this_purpose_is_refused(token: str) -> None:
    with pytest.raises(NotAuthenticated):
        KEYS.read(token)


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
