"""What the audit trail hears of requests, and how it is read over HTTP."""

import json
from typing import Any

import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import calls, keys
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.verification import verify
from leaseforge_auth.roles import Role
from tests.api.conftest import PASSWORD, SECRET, Bearer, Client
from tests.api.support import kill_job

LOGIN = "/api/auth/login"


async def trail(client: Client, admin: dict[str, str], query: str = "") -> list[dict[str, Any]]:
    answer = await client.get(f"/api/audit?{query}", headers=admin)
    assert answer.status_code == 200
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_a_change_is_written_down_with_who_why_and_how_it_ended(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    await kill_job(store, "mail")

    answer = await client.post("/api/queues/mail/purge", json={"reason": "wrong campaign"}, headers=admin)

    [entry] = await trail(client, admin, "action=queue")
    assert answer.headers["x-audit-id"] == entry["id"]
    assert entry["request_id"] == answer.headers["x-request-id"]
    assert (entry["action"], entry["target"], entry["user"], entry["roles"]) == (
        "queue.purge",
        "mail",
        "admin",
        ["admin"],
    )
    assert (entry["reason"], entry["result"], entry["status"]) == ("wrong campaign", "ok", 200)
    assert (entry["credential"], entry["address"]) == ("token", "127.0.0.1")
    assert entry["detail"] == {"removed": 0}
    assert entry["began_at"] <= entry["ended_at"]
    assert (await verify(store, Chain([SECRET]))).is_intact


async def test_a_delete_gives_its_reason_in_the_query(client: Client, admin: dict[str, str], store: Store) -> None:
    job_id = await kill_job(store, "mail")

    assert (await client.delete(f"/api/jobs/{job_id}?reason=tested", headers=admin)).status_code == 204

    [entry] = await trail(client, admin, "action=job.delete")
    assert (entry["target"], entry["reason"], entry["status"]) == (job_id, "tested", 204)


async def test_what_was_refused_is_written_down_too(client: Client, admin: dict[str, str], bearer: Bearer) -> None:
    refused = await client.post("/api/queues/mail/pause", headers=bearer(Role.VIEWER))
    missing = await client.post("/api/queues/nowhere/pause", headers=admin)
    broken = await client.post("/api/queues/mail/purge", json={"reson": 1}, headers=admin)

    assert [answer.status_code for answer in (refused, missing, broken)] == [403, 404, 400]
    entries = await trail(client, admin, "result=refused")
    assert [(entry["user"], entry["target"], entry["status"]) for entry in entries] == [
        ("admin", "mail", 400),
        ("admin", "nowhere", 404),
        ("viewer", "mail", 403),
    ]


async def test_looking_on_enqueueing_and_strangers_leave_no_entry(client: Client, admin: dict[str, str]) -> None:
    await client.get("/api/queues", headers=admin)
    await client.post("/api/jobs", json={"type": "echo"}, headers=admin)
    await client.post("/api/queues/mail/pause")

    assert await trail(client, admin) == []


async def test_logins_are_written_down_without_what_was_typed(
    client: Client, admin: dict[str, str], accounts_by_role: dict[Role, calls.Account], redis_client: "redis.Redis"
) -> None:
    for name, password in (("viewer", PASSWORD), ("viewer", "hunter2 hunter2"), ("s3cret-typed-as-a-name", "x")):
        await client.post(LOGIN, json={"username": name, "password": password})

    entries = await trail(client, admin, "action=login")
    assert [(entry["user"], entry["status"], entry["detail"]) for entry in entries] == [
        (None, 401, {"cause": "no such account"}),
        ("viewer", 401, {"cause": "wrong password"}),
        ("viewer", 200, {}),
    ]
    stream: Any = redis_client.xrange(keys.AUDIT)
    stored = b"".join(fields[b"body"] for _, fields in stream)
    assert b"hunter2" not in stored
    assert b"s3cret" not in stored
    assert PASSWORD.encode() not in stored


async def test_attempts_that_are_slowed_down_cannot_fill_the_trail(
    client: Client, admin: dict[str, str], accounts_by_role: dict[Role, calls.Account]
) -> None:
    statuses = [
        (await client.post(LOGIN, json={"username": "viewer", "password": "wrong"})).status_code for _ in range(12)
    ]

    assert 429 in statuses
    assert len(await trail(client, admin, "action=login&limit=100")) == statuses.count(401)


async def test_nothing_is_done_when_it_cannot_be_written_down(
    client: Client, admin: dict[str, str], store: Store, redis_client: "redis.Redis"
) -> None:
    await kill_job(store, "mail")
    redis_client.delete(keys.AUDIT)
    redis_client.set(keys.AUDIT, "foreign")

    answer = await client.post("/api/queues/mail/pause", headers=admin)

    assert answer.status_code >= 500
    redis_client.delete(keys.AUDIT)
    assert (await client.get("/api/queues/mail", headers=admin)).json()["paused"] is False


async def test_the_trail_is_exported_as_lines(client: Client, admin: dict[str, str], store: Store) -> None:
    await kill_job(store, "mail")
    for action in ("pause", "resume"):
        await client.post(f"/api/queues/mail/{action}", headers=admin)

    answer = await client.get("/api/audit/export?action=queue", headers=admin)

    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line)["action"] for line in answer.text.splitlines()] == ["queue.pause", "queue.resume"]


async def test_pages_of_the_trail_neither_lose_nor_repeat(client: Client, admin: dict[str, str]) -> None:
    for number in range(5):
        await client.post(f"/api/queues/q{number}/pause", headers=admin)

    seen, cursor = [], ""
    while True:
        page = (await client.get(f"/api/audit?limit=2{cursor}", headers=admin)).json()
        seen += [entry["target"] for entry in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"

    assert seen == ["q4", "q3", "q2", "q1", "q0"]


async def test_times_bound_the_search(client: Client, admin: dict[str, str]) -> None:
    await client.post("/api/queues/mail/pause", headers=admin)
    [entry] = await trail(client, admin)

    assert await trail(client, admin, f"since={entry['began_at']}")
    assert not await trail(client, admin, f"until={entry['began_at']}")
    assert (await client.get("/api/audit?since=yesterday", headers=admin)).status_code == 400


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
async def test_only_administrators_read_the_trail(client: Client, bearer: Bearer, role: Role) -> None:
    assert (await client.get("/api/audit", headers=bearer(role))).status_code == 403
