"""API tokens over HTTP: shown once, never worth more than their account, gone when they are revoked."""

import asyncio
from typing import Any

import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import calls, keys
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role
from tests.api.conftest import SECRET, Bearer, Client, serving

YEAR = 365 * 86_400


async def make(client: Client, headers: dict[str, str], **asked: Any) -> dict[str, Any]:
    answer = await client.post("/api/tokens", json={"name": "import"} | asked, headers=headers)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def shown(made: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {made['token']}"}


async def test_a_token_may_do_what_it_was_made_for_and_nothing_else(client: Client, bearer: Bearer) -> None:
    made = await make(client, bearer(Role.OPERATOR), permissions=["jobs:enqueue"])

    assert (await client.post("/api/jobs", json={"type": "echo"}, headers=shown(made))).status_code == 201
    assert (await client.get("/api/queues", headers=shown(made))).status_code == 403
    me = (await client.get("/api/auth/me", headers=shown(made))).json()
    assert (me["username"], me["permissions"]) == ("operator", ["jobs:enqueue"])
    assert me["expires_at"] == made["expires_at"]


async def test_only_the_digest_of_a_token_is_stored(
    client: Client, bearer: Bearer, redis_client: "redis.Redis"
) -> None:
    made = await make(client, bearer(Role.OPERATOR), role="viewer")
    secret = made["token"].rpartition("_")[2].encode()

    for key in redis_client.scan_iter("*"):
        assert secret not in (redis_client.dump(key) or b"")


async def test_tokens_are_listed_with_their_last_use_but_without_what_one_could_use(
    client: Client, bearer: Bearer, redis_client: "redis.Redis"
) -> None:
    operator = bearer(Role.OPERATOR)
    first = await make(client, operator, name="first", role="viewer")
    await make(client, operator, name="second", permissions=["jobs:enqueue", "jobs:read"])
    await client.get("/api/queues", headers=shown(first))

    listed = (await client.get("/api/tokens", headers=operator)).json()

    assert [(token["name"], token["roles"], token["permissions"]) for token in listed["items"]] == [
        ("second", [], ["jobs:enqueue", "jobs:read"]),
        ("first", ["viewer"], []),
    ]
    assert listed["total"] == 2
    assert [token["last_used_at"] is not None for token in listed["items"]] == [False, True]
    assert first["token"] not in str(listed)
    assert (await client.get("/api/tokens", headers=bearer(Role.VIEWER))).json()["total"] == 0


async def test_a_revoked_token_is_refused_at_once_also_by_another_server(
    client: Client, bearer: Bearer, store: Store
) -> None:
    operator = bearer(Role.OPERATOR)
    made = await make(client, operator, role="viewer")
    async with serving(store) as second:
        assert (await second.get("/api/queues", headers=shown(made))).status_code == 200

        assert (await client.delete(f"/api/tokens/{made['id']}", headers=operator)).status_code == 204

        for server in (client, second):
            assert (await server.get("/api/queues", headers=shown(made))).status_code == 401
    assert (await client.get("/api/tokens", headers=operator)).json()["items"] == []


async def test_requests_at_the_same_time_are_each_judged_by_their_own_token_and_never_by_what_was(
    client: Client, bearer: Bearer
) -> None:
    headers = bearer(Role.OPERATOR)
    mine = await make(client, headers, permissions=["jobs:enqueue"])
    other = await make(client, headers, name="other", role="viewer")
    almost = {"token": mine["token"][:-1] + ("A" if mine["token"][-1] != "A" else "B")}

    async def statuses() -> list[int]:
        shows = [shown(mine), shown(other), shown(almost)] * 4
        return [
            answer.status_code
            for answer in await asyncio.gather(*(client.get("/api/queues", headers=one) for one in shows))
        ]

    assert await statuses() == [403, 200, 401] * 4
    assert (await client.delete(f"/api/tokens/{other['id']}", headers=headers)).status_code == 204
    assert await statuses() == [403, 401, 401] * 4


@pytest.mark.parametrize(
    "change",
    [{"disabled": "1"}, {"roles": "producer"}, {"created_at": "99999999999999"}, {"logged_out_at": "99999999999999"}],
    ids=lambda change: next(iter(change)),
)
async def test_a_personal_token_is_worth_no_more_than_its_account(
    client: Client, bearer: Bearer, redis_client: "redis.Redis", change: dict[Any, Any]
) -> None:
    made = await make(client, bearer(Role.OPERATOR), role="viewer")

    redis_client.hset(keys.account("operator"), mapping=change)

    answer = await client.get("/api/queues", headers=shown(made))
    assert answer.status_code == (403 if "roles" in change else 401)


async def test_a_new_password_leaves_personal_tokens_alone(
    client: Client, bearer: Bearer, redis_client: "redis.Redis"
) -> None:
    made = await make(client, bearer(Role.OPERATOR), role="viewer")

    redis_client.hincrby(keys.account("operator"), "epoch", 1)

    assert (await client.get("/api/queues", headers=shown(made))).status_code == 200


async def test_a_service_token_stands_for_itself(
    client: Client, admin: dict[str, str], redis_client: "redis.Redis"
) -> None:
    made = await make(client, admin, name="billing", kind="service", role="producer")
    redis_client.delete(keys.account("admin"))

    answer = await client.post("/api/jobs", json={"type": "echo"}, headers=shown(made))

    assert answer.status_code == 201
    job = await client.get(f"/api/jobs/{answer.json()['id']}", headers=shown(made))
    assert job.status_code == 200
    assert (await client.get("/api/auth/me", headers=shown(made))).json()["username"] == "service:billing"


async def test_names_of_service_tokens_are_unique_while_they_live(client: Client, admin: dict[str, str]) -> None:
    asked = {"name": "billing", "kind": "service", "role": "producer"}
    made = await make(client, admin, **asked)

    taken = await client.post("/api/tokens", json=asked, headers=admin)
    assert (taken.status_code, taken.json()["type"].rpartition(":")[2]) == (409, "token-name-taken")
    await client.delete(f"/api/tokens/{made['id']}", headers=admin)
    await make(client, admin, **asked)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"role": "admin"}, 403),
        ({"permissions": ["users:write"]}, 403),
        ({"kind": "service", "role": "viewer"}, 403),
        ({}, 400),
        ({"role": "viewer", "expires_in_seconds": None}, 400),
        ({"role": "viewer", "expires_in_seconds": 59}, 400),
        ({"role": "viewer", "expires_in_seconds": YEAR + 1}, 400),
        ({"role": "viewer", "name": ""}, 400),
        ({"role": "viewer", "name": "a\nb"}, 400),
        ({"role": "viewer", "name": "x" * 65}, 400),
        ({"role": "emperor"}, 400),
        ({"permissions": ["everything"]}, 400),
    ],
)
async def test_what_an_operator_may_not_make(
    client: Client, bearer: Bearer, asked: dict[str, Any], status: int
) -> None:
    answer = await client.post("/api/tokens", json={"name": "x"} | asked, headers=bearer(Role.OPERATOR))

    assert answer.status_code == status, answer.text


async def test_an_api_token_makes_and_ends_no_tokens(client: Client, bearer: Bearer, admin: dict[str, str]) -> None:
    made = await make(client, bearer(Role.OPERATOR), role="operator")
    other = await make(client, bearer(Role.OPERATOR), role="viewer")

    again = await client.post("/api/tokens", json={"name": "x", "role": "viewer"}, headers=shown(made))
    assert again.status_code == 403
    assert (await client.delete(f"/api/tokens/{other['id']}", headers=shown(made))).status_code == 403
    assert (await client.get("/api/tokens", headers=shown(made))).status_code == 403
    mighty = await make(client, admin, role="admin")
    assert (
        await client.post("/api/tokens", json={"name": "x", "role": "viewer"}, headers=shown(mighty))
    ).status_code == 403


async def test_others_tokens_need_a_permission(client: Client, bearer: Bearer, admin: dict[str, str]) -> None:
    made = await make(client, bearer(Role.OPERATOR), role="viewer")
    viewer = bearer(Role.VIEWER)

    assert (await client.get("/api/tokens?user=operator", headers=viewer)).status_code == 403
    assert (await client.delete(f"/api/tokens/{made['id']}", headers=viewer)).status_code == 404
    assert (await client.get("/api/tokens?user=*", headers=admin)).json()["total"] == 1
    assert (await client.delete(f"/api/tokens/{made['id']}", headers=admin)).status_code == 204
    assert (await client.delete(f"/api/tokens/{made['id']}", headers=admin)).status_code == 404


async def test_a_token_that_logs_out_is_gone(client: Client, bearer: Bearer) -> None:
    made = await make(client, bearer(Role.OPERATOR), role="viewer")

    assert (await client.post("/api/auth/logout", headers=shown(made))).status_code == 204
    assert (await client.get("/api/queues", headers=shown(made))).status_code == 401


async def test_an_account_has_a_bounded_number_of_tokens(
    client: Client, bearer: Bearer, monkeypatch: pytest.MonkeyPatch, redis_client: "redis.Redis"
) -> None:
    monkeypatch.setattr("leaseforge_auth.api_tokens.MOST_OF_ONE_OWNER", 2)
    operator = bearer(Role.OPERATOR)
    first = await make(client, operator, role="viewer")
    await make(client, operator, role="viewer")

    full = await client.post("/api/tokens", json={"name": "x", "role": "viewer"}, headers=operator)
    assert (full.status_code, full.json()["type"].rpartition(":")[2]) == (409, "too-many-tokens")
    redis_client.delete(keys.api_token(first["id"]))  # as if it had expired
    await make(client, operator, role="viewer")


async def test_an_expired_token_is_refused(client: Client, bearer: Bearer, redis_client: "redis.Redis") -> None:
    made = await make(client, bearer(Role.OPERATOR), role="viewer")

    redis_client.hset(keys.api_token(made["id"]), "expires_at", "1")

    assert (await client.get("/api/queues", headers=shown(made))).status_code == 401


@pytest.mark.parametrize(
    "spoil", [lambda text: text[:-1], lambda text: text + "x", lambda text: text.upper(), str.swapcase]
)
async def test_almost_a_token_is_none(client: Client, bearer: Bearer, spoil: Any) -> None:
    made = await make(client, bearer(Role.OPERATOR), role="viewer")

    answer = await client.get("/api/queues", headers={"Authorization": f"Bearer {spoil(made['token'])}"})

    assert answer.status_code == 401


async def test_making_a_token_is_audited_without_the_token(
    client: Client, bearer: Bearer, admin: dict[str, str]
) -> None:
    made = await make(client, bearer(Role.OPERATOR), role="viewer", reason="nightly")

    [entry] = (await client.get("/api/audit?action=token.create", headers=admin)).json()["items"]
    assert (entry["reason"], entry["detail"]["token"]) == ("nightly", made["id"])
    assert made["token"].rpartition("_")[2] not in str(entry)
    assert Permission.TOKENS_WRITE not in entry["detail"]["permissions"]
    assert calls.SCRIPTS.load("api_token_read").header.flags == "allow-oom"
    assert SECRET not in str(entry)
