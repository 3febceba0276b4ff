"""Every route of the API against credentials that are worth nothing (any more): generated from the table of routes."""

import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import calls, keys
from leaseforge_auth.access import AccessTokens
from leaseforge_auth.api_tokens import ApiTokens, TokenKind
from leaseforge_auth.identity import Identity
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role, permissions_of
from leaseforge_auth.signing import derive, key_id
from leaseforge_auth.tokens import AUDIENCE, ISSUER, TOKEN_TYPE, TokenKeys
from tests.api.conftest import SECRET, Client
from tests.api.test_routes import API, Route

KEY = derive(SECRET, "leaseforge access token")


def signed(epoch: int, *, typ: str = TOKEN_TYPE, **changed: Any) -> str:
    """A token with our own key, and something else than ours has."""
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "admin",
        "iat": now,
        "exp": now + 600,
        "jti": "some id",
        "epoch": epoch,
        "auth_time": now,
    }
    return jwt.encode(claims | changed, KEY, algorithm="HS256", headers={"kid": key_id(KEY), "typ": typ})


FORGED: dict[str, Callable[[int], str]] = {
    "expired": lambda epoch: signed(epoch, exp=int(time.time()) - 60),
    "wrong audience": lambda epoch: signed(epoch, aud="another-api"),
    "audiences": lambda epoch: signed(epoch, aud=["another-api"]),
    "wrong issuer": lambda epoch: signed(epoch, iss="https://elsewhere.example"),
    "wrong type": lambda epoch: signed(epoch, typ="JWT"),
    "old epoch": lambda epoch: signed(epoch - 1),
    "not yet": lambda epoch: signed(epoch, nbf=int(time.time()) + 600),
    "from the future": lambda epoch: signed(epoch, iat=int(time.time()) + 600),
    "nobody's": lambda epoch: signed(epoch, sub="nobody"),
    "without an id": lambda epoch: signed(epoch, jti=""),
    "signed with another secret": lambda epoch: TokenKeys(["x" * 40]).issue("admin", epoch=epoch, ttl_s=600),
    "unsigned": lambda epoch: jwt.encode({"sub": "admin", "epoch": epoch}, "", algorithm="none"),
}


@pytest.fixture
async def worthless(
    store: Store,
    accounts_by_role: dict[Role, calls.Account],
    tokens: AccessTokens,
    redis_client: "redis.Redis",
) -> dict[str, str]:
    """Credentials of an administrator that are worth nothing, by what is wrong with them."""
    admin, operator = accounts_by_role[Role.ADMIN], accounts_by_role[Role.OPERATOR]
    found = {name: forge(admin.epoch) for name, forge in FORGED.items()}
    given_up = tokens.issue(admin).token
    _, claims = await tokens.identify(given_up)
    await tokens.revoke(claims, now_s=time.time())
    found["given up"] = given_up
    found["of a disabled account"] = tokens.issue(operator).token
    redis_client.hset(keys.account("operator"), "disabled", "1")
    api_tokens = ApiTokens(store)
    identity = Identity("admin", (Role.ADMIN,), permissions_of([Role.ADMIN]), "token")
    revoked = await api_tokens.create(identity, name="x", kind=TokenKind.PERSONAL, roles=[Role.ADMIN])
    await api_tokens.revoke(revoked.id, owner=None)
    found["a revoked API token"] = revoked.text
    expired = await api_tokens.create(identity, name="x", kind=TokenKind.SERVICE, roles=[Role.ADMIN])
    redis_client.hset(keys.api_token(expired.id), "expires_at", "1")
    found["an expired API token"] = expired.text
    return found


@pytest.mark.parametrize("route", API, ids=str)
async def test_a_credential_that_is_worth_nothing_opens_nothing(
    route: Route, client: Client, worthless: dict[str, str]
) -> None:
    for name, token in worthless.items():
        headers = {"Authorization": f"Bearer {token}"}
        for method, path in ((route.method, route.path), (route.method, route.path + "/"), ("HEAD", route.path)):
            if method == "HEAD" and route.method != "GET":
                continue
            answer = await client.request(method, path, headers=headers)
            assert answer.status_code == 401, f"{name}: {method} {path}"


@pytest.mark.parametrize("route", API, ids=str)
async def test_an_api_token_opens_what_its_permissions_say_and_no_more(
    route: Route, client: Client, store: Store, accounts_by_role: dict[Role, calls.Account]
) -> None:
    maker = Identity("admin", (Role.ADMIN,), permissions_of([Role.ADMIN]), "token")
    made = await ApiTokens(store).create(
        maker, name="own", kind=TokenKind.PERSONAL, permissions=[Permission.JOBS_READ_OWN]
    )

    answer = await client.request(route.method, route.path, headers={"Authorization": f"Bearer {made.text}"})

    wanted = route.opt.get("permission", ())
    if wanted:
        assert (answer.status_code != 403) is (Permission.JOBS_READ_OWN in wanted)


async def test_an_encoded_slash_is_part_of_a_name(client: Client, admin: dict[str, str]) -> None:
    for path in ("/api/users/admin%2fsessions", "/api/jobs/x%2freveal", "/api/queues/mail%2fjobs"):
        answer = await client.get(path, headers=admin)
        assert answer.status_code in (400, 404), path
