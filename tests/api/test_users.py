"""Accounts, sessions, refreshed tokens and revealed payloads over HTTP."""

import time
from typing import Any

import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import calls, keys
from leaseforge_auth.cookies import session_cookie
from leaseforge_auth.roles import Role
from leaseforge_auth.sessions import Sessions
from leaseforge_auth.tokens import TokenKeys
from tests.api.conftest import PASSWORD, PASSWORD_HASH, SECRET, Bearer, Client, serving

NEW = "another correct horse"
ME = "/api/auth/me"
MINUTES = 60


async def make(client: Client, admin: dict[str, str], username: str = "ada", *roles: str) -> dict[str, str]:
    """The headers of a login of a new account."""
    asked = {"username": username, "roles": [*roles] or ["operator"], "password": PASSWORD}
    made = await client.post("/api/users", json=asked, headers=admin)
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"/api/users/{username}"
    return await login(client, username)


async def login(client: Client, username: str, password: str = PASSWORD) -> dict[str, str]:
    answer = await client.post("/api/auth/login", json={"username": username, "password": password})
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


def kind(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].rpartition(":")[2]


async def test_an_account_that_was_made_can_log_in_and_is_listed(client: Client, admin: dict[str, str]) -> None:
    ada = await make(client, admin)

    assert (await client.get(ME, headers=ada)).json()["roles"] == ["operator"]
    shown = (await client.get("/api/users/ada", headers=admin)).json()
    assert (shown["origin"], shown["disabled"], shown["has_password"]) == ("api", False, True)
    assert shown["last_login_at"] >= shown["created_at"]
    listed = (await client.get("/api/users", headers=admin)).json()
    assert [user["username"] for user in listed["items"]] == ["ada", "admin", "operator", "producer", "viewer"]
    assert "argon2" not in str(listed)


@pytest.mark.parametrize(
    ("change", "then"),
    [
        ({"roles": ["viewer"]}, 200),
        ({"disabled": True}, 401),
        ({"password": NEW}, 401),
    ],
    ids=["roles", "disabled", "password"],
)
async def test_a_change_ends_what_was_handed_out_before_on_every_server(
    client: Client, admin: dict[str, str], store: Store, change: dict[str, Any], then: int
) -> None:
    ada = await make(client, admin)
    async with serving(store) as second:
        assert (await second.get(ME, headers=ada)).status_code == 200

        assert (await client.patch("/api/users/ada", json=change, headers=admin)).status_code == 200

        for server in (client, second):
            assert (await server.get(ME, headers=ada)).status_code == 401
    again = await client.post("/api/auth/login", json={"username": "ada", "password": PASSWORD})
    assert again.status_code == then


async def test_the_last_administrator_stays_one(client: Client, admin: dict[str, str]) -> None:
    for change in ({"roles": ["viewer"]}, {"disabled": True}):
        answer = await client.patch("/api/users/second", json=change, headers=admin)
        assert answer.status_code == 404
    await make(client, admin, "second", "admin")
    # The settings' own `admin` counts, too.
    assert (await client.patch("/api/users/second", json={"disabled": True}, headers=admin)).status_code == 200
    assert kind(await client.patch("/api/users/admin", json={"disabled": True}, headers=admin)) == (
        409,
        "last-administrator",
    )
    assert (await client.patch("/api/users/second", json={"disabled": False}, headers=admin)).status_code == 200
    assert (await client.delete("/api/users/second", headers=admin)).status_code == 204


async def test_accounts_of_the_settings_are_changed_there(client: Client, admin: dict[str, str]) -> None:
    for answer in (
        await client.patch("/api/users/viewer", json={"roles": ["admin"]}, headers=admin),
        await client.patch("/api/users/viewer", json={"password": NEW}, headers=admin),
        await client.delete("/api/users/viewer", headers=admin),
    ):
        assert kind(answer) == (409, "user-from-settings")
    assert (await client.patch("/api/users/viewer", json={"disabled": True}, headers=admin)).status_code == 200


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"username": "viewer"}, 409),
        ({"username": "a b"}, 400),
        ({"username": "service:x"}, 400),
        ({"password": "short"}, 400),
        ({"password": "x" * 1025}, 400),
        ({"roles": ["emperor"]}, 400),
        ({"admin": True}, 400),
    ],
)
async def test_accounts_that_cannot_be_made(
    client: Client, admin: dict[str, str], asked: dict[str, Any], status: int
) -> None:
    body = {"username": "ada", "roles": ["viewer"], "password": PASSWORD} | asked

    assert (await client.post("/api/users", json=body, headers=admin)).status_code == status


async def test_a_change_that_says_nothing_is_refused(client: Client, admin: dict[str, str]) -> None:
    assert (await client.patch("/api/users/viewer", json={}, headers=admin)).status_code == 400


async def test_a_deleted_account_takes_its_personal_tokens_along(
    client: Client, admin: dict[str, str], redis_client: "redis.Redis"
) -> None:
    ada = await make(client, admin, "ada", "admin")
    own = (await client.post("/api/tokens", json={"name": "x", "role": "viewer"}, headers=ada)).json()
    service = {"name": "x", "role": "viewer", "kind": "service"}
    kept = (await client.post("/api/tokens", json=service, headers=ada)).json()

    assert (await client.delete("/api/users/ada", headers=admin)).status_code == 204

    assert redis_client.exists(keys.api_token(own["id"])) == 0
    assert (await client.get(ME, headers={"Authorization": f"Bearer {kept['token']}"})).status_code == 200
    assert (await client.get(ME, headers=ada)).status_code == 401
    await make(client, admin, "ada", "admin")
    assert (await client.get(ME, headers=ada)).status_code == 401


async def test_changing_ones_own_password_needs_the_old_one(client: Client, admin: dict[str, str]) -> None:
    ada = await make(client, admin)

    wrong = await client.post("/api/auth/password", json={"current": "wrong", "new": NEW}, headers=ada)
    assert wrong.status_code == 400
    right = await client.post("/api/auth/password", json={"current": PASSWORD, "new": NEW}, headers=ada)

    assert right.status_code == 200
    fresh = {"Authorization": f"Bearer {right.json()['access_token']}"}
    assert (await client.get(ME, headers=fresh)).status_code == 200
    assert (await client.get(ME, headers=ada)).status_code == 401
    await login(client, "ada", NEW)


async def test_a_token_is_traded_once_for_a_new_one(client: Client, admin: dict[str, str]) -> None:
    ada = await make(client, admin)

    traded = await client.post("/api/auth/refresh", headers=ada)

    fresh = {"Authorization": f"Bearer {traded.json()['access_token']}"}
    assert (await client.get(ME, headers=fresh)).status_code == 200
    assert (await client.get(ME, headers=ada)).status_code == 401
    assert (await client.post("/api/auth/refresh", headers=ada)).status_code == 401


async def test_after_a_week_one_logs_in_again(
    client: Client, admin: dict[str, str], accounts_by_role: dict[Role, calls.Account]
) -> None:
    epoch = accounts_by_role[Role.VIEWER].epoch
    week = 7 * 86_400
    for age, status in ((week - 10 * MINUTES, 200), (week + MINUTES, 401)):
        token = TokenKeys([SECRET]).issue("viewer", epoch=epoch, ttl_s=600, logged_in_at=int(time.time()) - age)
        answer = await client.post("/api/auth/refresh", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == status
        if status == 200:
            assert answer.json()["expires_in"] <= 10 * MINUTES


async def test_sessions_are_listed_and_ended_one_by_one(
    client: Client, store: Store, bearer: Bearer, admin: dict[str, str]
) -> None:
    account = await store.run(calls.read_account("viewer"))
    assert account is not None
    sessions = Sessions(
        store, cookie=session_cookie(is_secure=False, root_path="", max_age_s=60), idle_s=60, absolute_s=60
    )
    first = await sessions.create(account, address="203.0.113.7", agent="A Browser/1.0 " + "x" * 500)
    second = await sessions.create(account)
    assert first is not None
    assert second is not None
    viewer = bearer(Role.VIEWER)

    listed = (await client.get("/api/sessions", headers=viewer)).json()

    assert len(listed) == 2
    oldest = next(one for one in listed if one["address"] == "203.0.113.7")
    assert oldest["user_agent"].startswith("A Browser/1.0")
    assert len(oldest["user_agent"]) <= 200
    assert first.id not in str(listed)
    assert (await client.get("/api/users/viewer/sessions", headers=admin)).json() == listed
    assert (await client.delete(f"/api/sessions/{oldest['id']}", headers=admin)).status_code == 404
    assert (await client.delete(f"/api/sessions/{oldest['id']}", headers=viewer)).status_code == 204
    assert await sessions.read(first.id) is None
    assert await sessions.read(second.id) is not None
    assert (await client.post("/api/sessions/end-all", headers=viewer)).status_code == 204
    assert await sessions.read(second.id) is None
    assert (await client.get(ME, headers=viewer)).status_code == 401


async def test_an_account_has_a_bounded_number_of_sessions(store: Store, bearer: Bearer) -> None:
    account = await store.run(calls.read_account("viewer"))
    assert account is not None
    cookie = session_cookie(is_secure=False, root_path="", max_age_s=60)
    sessions = Sessions(store, cookie=cookie, idle_s=60, absolute_s=60)

    opened = [await sessions.create(account) for _ in range(52)]

    assert len(await sessions.listed("viewer")) == 50
    newest = opened[-1]
    assert newest is not None
    assert await sessions.read(newest.id) is not None


async def test_logging_out_everywhere_ends_api_tokens_too(client: Client, admin: dict[str, str]) -> None:
    ada = await make(client, admin)
    made = (await client.post("/api/tokens", json={"name": "x", "role": "viewer"}, headers=ada)).json()

    assert (await client.post("/api/users/ada/logout", headers=admin)).status_code == 204

    for headers in (ada, {"Authorization": f"Bearer {made['token']}"}):
        assert (await client.get(ME, headers=headers)).status_code == 401


async def test_an_api_token_neither_refreshes_nor_changes_its_owners_affairs(
    client: Client, admin: dict[str, str]
) -> None:
    made = (await client.post("/api/tokens", json={"name": "x", "role": "admin"}, headers=admin)).json()
    token = {"Authorization": f"Bearer {made['token']}"}

    answers = [
        await client.post("/api/auth/refresh", headers=token),
        await client.post("/api/auth/password", json={"current": PASSWORD, "new": NEW}, headers=token),
        await client.get("/api/sessions", headers=token),
        await client.post("/api/sessions/end-all", headers=token),
    ]
    assert [answer.status_code for answer in answers] == [403] * 4


async def test_what_is_masked_is_revealed_to_those_who_may_and_it_is_written_down(
    client: Client, admin: dict[str, str], bearer: Bearer
) -> None:
    job = {"type": "echo", "payload": {"user": "ada", "password": "hunter2 hunter2"}}
    job_id = (await client.post("/api/jobs", json=job, headers=admin)).json()["id"]
    path = f"/api/jobs/{job_id}/reveal"

    assert "hunter2" not in (await client.get(f"/api/jobs/{job_id}", headers=admin)).text
    assert (await client.post(path, json={"reason": "x"}, headers=bearer(Role.OPERATOR))).status_code == 403
    assert (await client.post(path, json={}, headers=admin)).status_code == 400
    shown = await client.post(path, json={"reason": "customer asked"}, headers=admin)

    assert shown.json()["payload"] == job["payload"]
    trail = (await client.get("/api/audit?action=job.reveal", headers=admin)).json()["items"]
    assert [(entry["status"], entry["reason"], entry["target"]) for entry in trail] == [
        (200, "customer asked", job_id),
        (400, None, job_id),
        (403, None, job_id),
    ]
    assert "hunter2" not in str(trail)
    assert PASSWORD_HASH not in shown.text
