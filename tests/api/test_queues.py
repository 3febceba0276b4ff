"""Queues and workers over HTTP."""

from typing import Any

import pytest

from leaseforge.exchanges import Outcome
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import claim_job, kill_job, report_worker, settle


async def enqueue(
    client: Client, admin: dict[str, str], count: int, queue: str = "mail", **fields: object
) -> list[str]:
    asked = {"jobs": [{"type": "echo", "queue": queue} | fields for _ in range(count)]}
    ids: list[str] = (await client.post("/api/jobs/bulk", json=asked, headers=admin)).json()["ids"]
    return ids


async def test_a_queue_shows_how_many_jobs_are_in_each_state(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    await kill_job(store, "mail")
    await settle(store, await claim_job(store, "mail"), Outcome.COMPLETE, result=b'{"ok":true}')
    await claim_job(store, "mail")
    await enqueue(client, admin, 2)
    await enqueue(client, admin, 1, delay_seconds=60)

    queue = (await client.get("/api/queues/mail", headers=admin)).json()

    assert queue["counts"] == {
        "ready": 2,
        "running": 1,
        "scheduled": 1,
        "retrying": 0,
        "completed": 1,
        "cancelled": 0,
        "dead": 1,
    }
    assert (queue["name"], queue["paused"], queue["rate"]) == ("mail", False, {"enqueued": 0.0, "completed": 0.0})
    assert set(queue["limits"].values()) == {None}
    assert queue["oldest_ready_seconds"] >= 0
    assert queue["totals"]["enqueued"] == 6
    assert (await client.get("/api/queues", headers=admin)).json()["items"][0]["counts"] == queue["counts"]


async def test_queues_are_paged_without_losing_or_repeating_one(client: Client, admin: dict[str, str]) -> None:
    for number in range(5):
        await enqueue(client, admin, 1, f"queue-{number}")

    names, cursor = [], ""
    while True:
        page = (await client.get(f"/api/queues?limit=2{cursor}", headers=admin)).json()
        names += [queue["name"] for queue in page["items"]]
        assert page["total"] == 5
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"

    assert names == [f"queue-{number}" for number in range(5)]


async def test_jobs_of_a_queue_are_listed_by_state_and_paged(client: Client, admin: dict[str, str]) -> None:
    ids = await enqueue(client, admin, 5)
    await enqueue(client, admin, 1, delay_seconds=60)

    first = (await client.get("/api/queues/mail/jobs?limit=3", headers=admin)).json()
    rest = (await client.get(f"/api/queues/mail/jobs?limit=3&cursor={first['next']}", headers=admin)).json()
    scheduled = (await client.get("/api/queues/mail/jobs?state=scheduled", headers=admin)).json()

    assert [job["id"] for job in first["items"] + rest["items"]] == ids
    assert (first["total"], rest["next"]) == (5, None)
    assert [job["status"] for job in scheduled["items"]] == ["scheduled"]
    assert not {"payload", "history", "result"} & first["items"][0].keys()


async def test_a_list_of_jobs_in_no_known_state_is_refused(client: Client, admin: dict[str, str]) -> None:
    await enqueue(client, admin, 1)

    answer = await client.get("/api/queues/mail/jobs?state=lost", headers=admin)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "state"


async def test_pause_and_resume_may_be_repeated(client: Client, admin: dict[str, str]) -> None:
    await enqueue(client, admin, 1)

    for action, paused in (("pause", True), ("pause", True), ("resume", False), ("resume", False)):
        answer = await client.post(f"/api/queues/mail/{action}", json={"reason": "maintenance"}, headers=admin)
        assert (answer.status_code, answer.json()["paused"]) == (200, paused)


async def test_a_purge_removes_what_was_shown_and_nothing_that_came_later(
    client: Client, admin: dict[str, str]
) -> None:
    await enqueue(client, admin, 3)
    shown = (await client.get("/api/queues/mail", headers=admin)).json()
    later = await enqueue(client, admin, 2)

    answer = await client.post("/api/queues/mail/purge", json={"frozen": shown["frozen"]}, headers=admin)

    assert answer.json() == {"removed": 3}
    left = (await client.get("/api/queues/mail/jobs", headers=admin)).json()
    assert [job["id"] for job in left["items"]] == later


async def test_a_purge_without_a_moment_removes_what_is_ready_now(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    await claim_job(store, "mail")
    await enqueue(client, admin, 2)
    await enqueue(client, admin, 1, delay_seconds=60)

    assert (await client.post("/api/queues/mail/purge", headers=admin)).json() == {"removed": 2}

    counts = (await client.get("/api/queues/mail", headers=admin)).json()["counts"]
    assert (counts["ready"], counts["running"], counts["scheduled"]) == (0, 1, 1)


LIMITS = {
    "max_running": 20,
    "rate_per_second": 2.5,
    "burst": 10,
    "keep_seconds": 3600.0,
    "keep": 500,
    "dead_keep_seconds": 86_400.0,
    "dead_keep": 1000,
}


async def test_limits_are_set_one_by_one_and_taken_away(client: Client, admin: dict[str, str]) -> None:
    await enqueue(client, admin, 1)

    for name, value in LIMITS.items():
        answer = await client.patch("/api/queues/mail", json={name: value, "reason": "calm down"}, headers=admin)
        assert answer.status_code == 200
    assert answer.json()["limits"] == LIMITS

    answer = await client.patch("/api/queues/mail", json={"keep": None, "max_running": 5}, headers=admin)

    assert answer.json()["limits"] == LIMITS | {"keep": None, "max_running": 5}
    assert (await client.get("/api/queues/mail", headers=admin)).json()["limits"] == answer.json()["limits"]
    [entry, *_] = (await client.get("/api/audit?action=queue.configure", headers=admin)).json()["items"]
    assert entry["detail"]["before"] == {"keep": 500, "max_running": 20}
    assert entry["detail"]["after"] == {"keep": None, "max_running": 5}


@pytest.mark.parametrize(
    "asked",
    [
        {"max_running": 0},
        {"max_running": 1.5},
        {"rate_per_second": 0},
        {"rate_per_second": 1e9},
        {"burst": -1},
        {"keep_seconds": 59},
        {"keep": 10**9},
        {"dead_keep_seconds": "day"},
        {"dead_keep": True},
        {"rate": 5},
    ],
)
async def test_a_limit_out_of_bounds_is_refused_by_its_name(
    asked: dict[str, Any], client: Client, admin: dict[str, str]
) -> None:
    await enqueue(client, admin, 1)

    answer = await client.patch("/api/queues/mail", json={"max_running": 3} | asked, headers=admin)

    assert answer.status_code == 400
    assert [problem["field"] for problem in answer.json()["errors"]] == list(asked)
    assert (await client.get("/api/queues/mail", headers=admin)).json()["limits"]["max_running"] is None


async def test_a_viewer_configures_nothing(client: Client, bearer: Bearer) -> None:
    await enqueue(client, bearer(Role.ADMIN), 1)

    answer = await client.patch("/api/queues/mail", json={"max_running": 3}, headers=bearer(Role.VIEWER))

    assert answer.status_code == 403


async def test_a_queue_nobody_used_is_not_found(client: Client, admin: dict[str, str]) -> None:
    for method, path in (("GET", ""), ("GET", "/jobs"), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/purge")):
        answer = await client.request(method, f"/api/queues/nowhere{path}", headers=admin)

        assert answer.status_code == 404
        assert answer.json()["type"] == "urn:leaseforge:problem:queue-not-found"


async def test_workers_are_listed_and_shown(client: Client, admin: dict[str, str], store: Store) -> None:
    for name in ("one", "two"):
        await report_worker(store, name)

    listed = (await client.get("/api/workers", headers=admin)).json()
    shown = (await client.get("/api/workers/one", headers=admin)).json()

    assert listed["total"] == 2
    assert shown in listed["items"]
    assert (shown["id"], shown["state"], shown["slots"], shown["queues"], shown["running"]) == (
        "one",
        "running",
        4,
        ["default"],
        [],
    )
    assert shown["started_at"] == "2023-11-14T22:13:20.000Z"
    assert (await client.get("/api/workers/three", headers=admin)).status_code == 404


async def test_stats_add_up_all_queues(client: Client, admin: dict[str, str], store: Store) -> None:
    await enqueue(client, admin, 2, "mail")
    await enqueue(client, admin, 1, "reports")
    await client.post("/api/queues/mail/pause", headers=admin)
    await report_worker(store, "one")

    stats = (await client.get("/api/system/stats", headers=admin)).json()

    assert (stats["queues"], stats["paused_queues"], stats["counts"]["ready"]) == (2, 1, 3)
    assert (stats["totals"]["enqueued"], stats["workers"], stats["slots"]) == (3, 1, 4)


async def test_the_version_is_told_to_those_who_may_read_it(client: Client, admin: dict[str, str]) -> None:
    answer = await client.get("/api/system/version", headers=admin)

    assert set(answer.json()) == {"version", "python", "environment"}
