"""Lists of jobs over queues and states: all of them, dead ones, delayed ones."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.exchanges import Outcome
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import claim_job, kill_job, settle

LISTS = ("/api/jobs", "/api/dlq", "/api/delayed")


async def add(store: Store, queue: str = "mail", count: int = 1, **fields: Any) -> list[str]:
    made = await store.run(operations.enqueue_many([new_job("echo", queue=queue, **fields) for _ in range(count)]))
    return [job.id for job in made]


async def walk(client: Client, path: str, headers: dict[str, str]) -> list[dict[str, Any]]:
    """All items of all pages."""
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = (await client.get(path + cursor, headers=headers)).json()
        items += page["items"]
        if page["next"] is None:
            return items
        cursor = ("&" if "?" in path else "?") + f"cursor={page['next']}"


async def test_jobs_of_all_queues_come_page_by_page_without_payloads(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    dead = await kill_job(store, "reports")
    running = (await claim_job(store, "mail")).id
    ready = await add(store, "mail", 3) + await add(store, "reports", 2)
    delayed = await add(store, "mail", 1, delay_ms=60_000)

    for limit in (1, 2, 100):
        items = await walk(client, f"/api/jobs?limit={limit}", admin)

        ids = [job["id"] for job in items]
        assert (ids[0], set(ids[1:6]), ids[6:]) == (running, set(ready), [*delayed, dead])
        assert not {"payload", "result", "history"} & items[0].keys()
    page = (await client.get("/api/jobs", headers=admin)).json()
    assert (page["total"], page["next"]) == (8, None)
    assert not {"searched", "of"} & page.keys()


async def test_states_and_queue_are_exact(client: Client, admin: dict[str, str], store: Store) -> None:
    await kill_job(store, "reports")
    await add(store, "mail", 2)
    await add(store, "mail", 1, delay_ms=60_000)

    page = (await client.get("/api/jobs?queue=mail&state=ready&state=dead", headers=admin)).json()

    assert ([job["status"] for job in page["items"]], page["total"]) == (["ready", "ready"], 2)
    assert (await client.get("/api/jobs?queue=nowhere", headers=admin)).status_code == 404


async def test_other_filters_say_how_far_they_looked(client: Client, admin: dict[str, str], store: Store) -> None:
    await add(store, "mail", 250)
    [wanted] = await add(store, "mail", 1, tags=("rare",), priority=-1)

    page = (await client.get("/api/jobs?tag=rare", headers=admin)).json()

    assert ([job["id"] for job in page["items"]], page["total"], page["next"]) == ([wanted], None, None)
    assert (page["searched"], page["of"]) == (251, 251)


async def test_filters_are_combined(client: Client, admin: dict[str, str], store: Store) -> None:
    since = datetime.now(UTC) - timedelta(minutes=5)
    dead = await kill_job(store, "mail")
    await add(store, "mail", 3)

    async def found(**asked: Any) -> list[str]:
        answer = await client.get("/api/jobs", params=asked, headers=admin)
        assert answer.status_code == 200, answer.text
        return [job["id"] for job in answer.json()["items"]]

    at = since.isoformat()
    assert await found(error="NO SUCH address", type="echo", queue="mail", finished_since=at) == [dead]
    assert await found(error="valueerror", created_since=at, priority_from=0, priority_to=0) == [dead]
    assert await found(error="%") == []
    assert await found(finished_until=at) == []
    group = (await client.get(f"/api/jobs/{dead}", headers=admin)).json()["group"]
    assert await found(group=group) == [dead]
    assert await found(group=group, type="other") == []


async def test_a_producer_finds_its_own_jobs_only(client: Client, bearer: Bearer, store: Store) -> None:
    await add(store, "mail", 5, created_by="admin")
    own = await add(store, "mail", 2, created_by="producer")
    producer = bearer(Role.PRODUCER)

    page = (await client.get("/api/jobs?state=ready", headers=producer)).json()

    assert [job["id"] for job in page["items"]] == own
    assert (page["total"], page["of"]) == (None, None)
    assert (await client.get("/api/jobs?created_by=admin", headers=producer)).json()["items"] == []
    others = (await client.get("/api/jobs?created_by=admin", headers=bearer(Role.VIEWER))).json()
    assert len(others["items"]) == 5
    for path in LISTS[1:]:
        assert (await client.get(path, headers=producer)).status_code == 403


@pytest.mark.parametrize(
    "query",
    [
        "state=asleep",
        "state=",
        "queue=no%20where",
        "queue=sys",
        "type=",
        "tag=" + "x" * 65,
        "error=" + "x" * 257,
        "priority_from=x",
        "priority_to=99999999999",
        "created_since=yesterday",
        "finished_until=soon",
        "group=g&state=ready",
        "limit=101",
        "limit=0",
        "cursor=x",
        "cursor=" + "x" * 400,
    ],
)
async def test_a_filter_that_is_none_is_refused_by_name(query: str, client: Client, admin: dict[str, str]) -> None:
    answer = await client.get(f"/api/jobs?{query}", headers=admin)

    assert answer.status_code == 400, answer.text
    assert answer.json()["errors"][0]["field"] == query.partition("=")[0]


@pytest.mark.parametrize("text", ["/", "+", "%", "?", "#", "..", "\N{PILE OF POO}", "a b", "\x00", '"', "]"])
async def test_odd_texts_are_only_themselves(text: str, client: Client, admin: dict[str, str], store: Store) -> None:
    await add(store, "mail", 1)
    [wanted] = await add(store, "mail", 1, tags=("a" + text.replace("\x00", "b"),))

    answer = await client.get("/api/jobs", params={"tag": "a" + text}, headers=admin)

    assert [job["id"] for job in answer.json()["items"]] == ([] if "\x00" in text else [wanted])
    for path, name in (("/api/dlq", "group"), ("/api/dlq", "error"), ("/api/delayed", "type")):
        found = await client.get(path, params={name: text}, headers=admin)
        assert (found.status_code, found.json()["items"]) == (200, [])


async def test_a_cursor_belongs_to_its_filters(client: Client, admin: dict[str, str], store: Store) -> None:
    await add(store, "mail", 5)
    following = (await client.get("/api/jobs?limit=2&queue=mail", headers=admin)).json()["next"]

    assert (await client.get(f"/api/jobs?queue=mail&cursor={following}", headers=admin)).status_code == 200
    for path in ("/api/jobs?", "/api/jobs?queue=mail&state=dead&", "/api/delayed?queue=mail&"):
        assert (await client.get(f"{path}cursor={following}", headers=admin)).status_code == 400


# dead letters


async def test_dead_jobs_are_listed_newest_first_over_queues(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    ids = [await kill_job(store, queue) for queue in ("mail", "reports", "mail")]
    await add(store, "mail", 1)

    page = (await client.get("/api/dlq?limit=2", headers=admin)).json()
    items = await walk(client, "/api/dlq?limit=2", admin)

    assert sorted(job["id"] for job in items) == sorted(ids)
    assert [job["finished_at"] for job in items] == sorted((job["finished_at"] for job in items), reverse=True)
    assert (page["total"], page["items"][0]["error"]["kind"]) == (3, "ValueError")
    assert page["frozen"]["as_of_ms"] > 1_700_000_000_000
    assert (await client.get("/api/dlq?queue=mail", headers=admin)).json()["total"] == 2
    assert (await client.get("/api/dlq?queue=nowhere", headers=admin)).status_code == 404
    assert (await client.get("/api/dlq?error=no%20such", headers=admin)).json()["searched"] == 3


async def test_a_group_leads_to_its_jobs(client: Client, admin: dict[str, str], store: Store) -> None:
    for queue in ("mail", "mail", "reports"):
        await kill_job(store, queue)

    listed = (await client.get("/api/dlq/groups?limit=1", headers=admin)).json()
    rest = (await client.get(f"/api/dlq/groups?limit=1&cursor={listed['next']}", headers=admin)).json()

    [group] = listed["items"]
    assert (listed["total"], group["queue"], group["size"]) == (2, "mail", 2)
    assert (group["kind"], group["message"]) == ("ValueError", "no such address")
    assert group["first_at"] <= group["last_at"]
    assert (rest["items"][0]["queue"], rest["next"]) == ("reports", None)
    params = {"queue": group["queue"], "group": group["key"]}
    jobs = (await client.get("/api/dlq", params=params, headers=admin)).json()
    assert jobs["total"] == 2
    assert {job["group"] for job in jobs["items"]} == {group["key"]}
    only = (await client.get("/api/dlq/groups?queue=reports", headers=admin)).json()
    assert [one["queue"] for one in only["items"]] == ["reports"]
    assert (await client.get("/api/dlq/groups?queue=nowhere", headers=admin)).status_code == 404


async def test_one_dead_job_is_retried_or_removed(client: Client, admin: dict[str, str], store: Store) -> None:
    first, second = await kill_job(store), await kill_job(store)

    retried = await client.post(f"/api/dlq/{first}/retry", json={"payload": 5, "reason": "fixed"}, headers=admin)
    removed = await client.delete(f"/api/dlq/{second}?reason=old", headers=admin)

    assert (retried.status_code, retried.json()["status"], retried.json()["payload"]) == (200, "ready", 5)
    assert removed.status_code == 204
    assert (await client.get("/api/dlq", headers=admin)).json()["total"] == 0
    assert (await client.get(f"/api/jobs/{second}", headers=admin)).status_code == 404
    # What is not dead (any more) is none of the dead letters' business.
    assert (await client.post(f"/api/dlq/{first}/retry", headers=admin)).status_code == 409
    assert (await client.delete(f"/api/dlq/{first}", headers=admin)).status_code == 409
    assert (await client.get(f"/api/jobs/{first}", headers=admin)).json()["status"] == "ready"


async def test_a_purge_takes_what_was_shown_and_nothing_that_died_later(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    for queue in ("mail", "reports"):
        await kill_job(store, queue)
    frozen = (await client.get("/api/dlq", headers=admin)).json()["frozen"]
    later = await kill_job(store, "mail")

    answer = await client.post("/api/dlq/purge", json={"frozen": frozen, "reason": "old"}, headers=admin)

    assert (answer.status_code, answer.json()) == (200, {"removed": 2})
    assert [job["id"] for job in (await client.get("/api/dlq", headers=admin)).json()["items"]] == [later]
    [entry, *_] = (await client.get("/api/audit?action=dlq.purge", headers=admin)).json()["items"]
    assert (entry["detail"]["removed"], entry["reason"]) == (2, "old")


async def test_a_purge_of_one_queue_leaves_the_others(client: Client, admin: dict[str, str], store: Store) -> None:
    for queue in ("mail", "mail", "reports"):
        await kill_job(store, queue)

    assert (await client.post("/api/dlq/purge?queue=mail", headers=admin)).json() == {"removed": 2}
    assert (await client.post("/api/dlq/purge?queue=nowhere", headers=admin)).status_code == 404
    assert (await client.post("/api/dlq/purge", json={"frozen": {}}, headers=admin)).status_code == 400
    assert (await client.get("/api/dlq", headers=admin)).json()["total"] == 1
    future = {"frozen": {"as_of_ms": 2**53}}
    assert (await client.post("/api/dlq/purge", json=future, headers=admin)).json() == {"removed": 1}


# delayed jobs


async def test_delayed_jobs_are_listed_by_due_time_over_queues_and_states(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    [late] = await add(store, "mail", delay_ms=3_600_000)
    [soon] = await add(store, "reports", delay_ms=60_000)
    retrying = await claim_job(store, "mail")
    await settle(store, retrying, Outcome.FAIL, error_kind="E", delay_ms=600_000)
    await add(store, "mail")

    page = (await client.get("/api/delayed", headers=admin)).json()

    assert [job["id"] for job in page["items"]] == [soon, retrying.id, late]
    assert [job["status"] for job in page["items"]] == ["scheduled", "retrying", "scheduled"]
    assert page["total"] == 3
    assert (await client.get("/api/delayed?queue=mail&limit=1", headers=admin)).json()["total"] == 2


async def test_a_delayed_job_is_promoted_or_cancelled(client: Client, admin: dict[str, str], store: Store) -> None:
    first, second = await add(store, "mail", 2, delay_ms=60_000)

    promoted = await client.post(f"/api/delayed/{first}/promote", json={"reason": "now"}, headers=admin)
    cancelled = await client.delete(f"/api/delayed/{second}?reason=no", headers=admin)

    assert (promoted.status_code, promoted.json()["status"], promoted.json()["due_at"]) == (200, "ready", None)
    assert cancelled.status_code == 204
    assert (await client.get(f"/api/jobs/{second}", headers=admin)).json()["status"] == "cancelled"
    assert (await client.get("/api/delayed", headers=admin)).json()["total"] == 0
    # Only what waits for its time is delayed.
    assert (await client.delete(f"/api/delayed/{first}", headers=admin)).status_code == 409
    assert (await client.post(f"/api/delayed/{first}/promote", headers=admin)).status_code == 409
    assert (await client.get(f"/api/jobs/{first}", headers=admin)).json()["status"] == "ready"


async def test_a_promotion_with_the_same_key_is_done_once(client: Client, admin: dict[str, str], store: Store) -> None:
    [job_id] = await add(store, "mail", delay_ms=60_000)
    headers = admin | {"Idempotency-Key": "k"}

    answers = [await client.post(f"/api/delayed/{job_id}/promote", headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]


ODD_IDS = ["%2F", "+", "%25", "%3F", "%23", "..", "\N{PILE OF POO}", "a" * 3000, "00000000-0000-4000-8000-000000000000"]


@pytest.mark.parametrize("job_id", ODD_IDS)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/dlq/{}/retry"),
        ("DELETE", "/api/dlq/{}"),
        ("POST", "/api/delayed/{}/promote"),
        ("DELETE", "/api/delayed/{}"),
    ],
)
async def test_an_id_nobody_has_is_not_found(
    method: str, path: str, job_id: str, client: Client, admin: dict[str, str], store: Store
) -> None:
    await add(store)

    answer = await client.request(method, path.format(job_id), headers=admin)

    assert answer.status_code in ((404, 405) if job_id == ".." else (404,))
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", LISTS)
async def test_strangers_see_nothing(path: str, client: Client) -> None:
    assert (await client.get(path)).status_code == 401


async def test_a_viewer_changes_nothing(client: Client, bearer: Bearer, store: Store) -> None:
    dead, [delayed] = await kill_job(store), await add(store, "mail", delay_ms=60_000)
    viewer = bearer(Role.VIEWER)

    for method, path in (
        ("POST", f"/api/dlq/{dead}/retry"),
        ("DELETE", f"/api/dlq/{dead}"),
        ("POST", "/api/dlq/purge"),
        ("POST", f"/api/delayed/{delayed}/promote"),
        ("DELETE", f"/api/delayed/{delayed}"),
    ):
        assert (await client.request(method, path, headers=viewer)).status_code == 403

    assert (await client.get("/api/dlq", headers=viewer)).json()["total"] == 1
    assert (await client.get("/api/delayed", headers=viewer)).json()["total"] == 1
