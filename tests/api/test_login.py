"""Login, who one is, logout."""

import pytest

from leaseforge.store import Store
from leaseforge_auth import calls, keys
from leaseforge_auth.roles import Role
from tests.api.conftest import PASSWORD, SECRET, Bearer, Client, serving

LOGIN = "/api/auth/login"


async def test_a_right_password_is_answered_with_a_token_and_what_it_is_good_for(
    client: Client, accounts_by_role: dict[Role, calls.Account]
) -> None:
    answer = await client.post(LOGIN, json={"username": "viewer", "password": PASSWORD})

    assert answer.status_code == 200
    body = answer.json()
    assert body["token_type"] == "Bearer"
    assert body["expires_in"] == 12 * 3600
    assert body["user"]["username"] == "viewer"
    assert body["user"]["roles"] == ["viewer"]
    assert "queues:read" in body["user"]["permissions"]
    me = await client.get("/api/auth/me", headers={"Authorization": f"Bearer {body['access_token']}"})
    assert me.json()["username"] == "viewer"
    assert me.json()["expires_at"].endswith(".000Z")


async def test_login_sets_no_cookie(client: Client, accounts_by_role: dict[Role, calls.Account]) -> None:
    answer = await client.post(LOGIN, json={"username": "viewer", "password": PASSWORD})

    assert "set-cookie" not in answer.headers


async def test_an_unknown_name_and_a_wrong_password_get_the_same_answer(
    client: Client, accounts_by_role: dict[Role, calls.Account]
) -> None:
    answers = [
        await client.post(LOGIN, json={"username": name, "password": "wrong"}) for name in ("viewer", "nobody", "a b")
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.json()["detail"] for answer in answers}) == 1


async def test_failing_too_often_is_answered_with_when_to_try_again(
    client: Client, accounts_by_role: dict[Role, calls.Account]
) -> None:
    # The first waits are short: on a slow machine one may be over before the next attempt.
    for _ in range(12):
        answer = await client.post(LOGIN, json={"username": "viewer", "password": "wrong"})
        if answer.status_code == 429:
            break

    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1


async def test_an_address_in_a_header_is_no_way_around_the_throttle(
    client: Client, accounts_by_role: dict[Role, calls.Account]
) -> None:
    statuses = []
    for number in range(12):
        headers = {"X-Forwarded-For": f"198.51.100.{number}"}
        answer = await client.post(LOGIN, json={"username": "viewer", "password": "wrong"}, headers=headers)
        statuses.append(answer.status_code)

    assert 429 in statuses


async def test_a_trusted_proxy_says_who_asks(store: Store, accounts_by_role: dict[Role, calls.Account]) -> None:
    async with serving(store, TRUSTED_PROXIES="127.0.0.0/8") as behind_proxy:
        for _ in range(6):
            headers = {"X-Forwarded-For": "198.51.100.1"}
            await behind_proxy.post(LOGIN, json={"username": "viewer", "password": "wrong"}, headers=headers)

        headers = {"X-Forwarded-For": "198.51.100.2"}
        answer = await behind_proxy.post(LOGIN, json={"username": "viewer", "password": PASSWORD}, headers=headers)

        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["password", "username"]),
        ({"username": "ada"}, ["password"]),
        ({"username": "ada", "password": 1}, ["password"]),
        ({"username": "ada", "password": ""}, ["password"]),
        ({"username": "ada", "password": "x" * 2000}, ["password"]),
        ({"username": "ada", "password": "x", "otp": "1"}, ["otp"]),
    ],
)
async def test_what_is_wrong_with_a_login_is_named(client: Client, body: object, fields: list[str]) -> None:
    answer = await client.post(LOGIN, json=body)

    assert answer.status_code == 400
    assert sorted(error["field"] for error in answer.json()["errors"]) == fields


async def test_a_form_is_no_login_for_the_api(client: Client) -> None:
    answer = await client.post(LOGIN, data={"username": "viewer", "password": PASSWORD})

    assert answer.status_code == 415


async def test_logout_ends_this_token_and_no_other(client: Client, bearer: Bearer) -> None:
    given_up, kept = bearer(Role.VIEWER), bearer(Role.VIEWER)

    assert (await client.post("/api/auth/logout", headers=given_up)).status_code == 204

    refused = await client.get("/api/auth/me", headers=given_up)
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert (await client.get("/api/auth/me", headers=kept)).status_code == 200


async def test_what_a_role_may_do_is_decided_at_each_request(
    client: Client, bearer: Bearer, redis_client: object
) -> None:
    headers = bearer(Role.OPERATOR)
    redis_client.hset(keys.account("operator"), "roles", "viewer")  # type: ignore[attr-defined]

    assert (await client.post("/api/queues/mail/pause", headers=headers)).status_code == 403


async def test_a_second_server_sees_a_logout_at_once(client: Client, store: Store, bearer: Bearer) -> None:
    headers = bearer(Role.VIEWER)
    async with serving(store) as other:
        assert (await other.get("/api/auth/me", headers=headers)).status_code == 200

        await client.post("/api/auth/logout", headers=headers)

        assert (await other.get("/api/auth/me", headers=headers)).status_code == 401


async def test_a_new_secret_in_front_throws_nobody_out(store: Store, bearer: Bearer) -> None:
    headers = bearer(Role.VIEWER)

    async with serving(
        store, AUTH_SECRET=f"another secret, this one is newer than,{SECRET}".replace(", this", " this")
    ) as new:
        assert (await new.get("/api/auth/me", headers=headers)).status_code == 200
    async with serving(store, AUTH_SECRET="another secret of more than 32 bytes") as other:
        assert (await other.get("/api/auth/me", headers=headers)).status_code == 401


async def test_how_one_can_log_in_is_open_to_everybody(client: Client) -> None:
    assert (await client.get("/api/auth/config")).json() == {
        "password": True,
        "sso": {"enabled": False, "provider": None, "login_url": None},
    }
