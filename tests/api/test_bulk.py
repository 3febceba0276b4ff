"""Enqueueing many jobs in one request."""

from typing import Any

from leaseforge import reads
from leaseforge.store import Store
from tests.api.conftest import Client

BULK = "/api/jobs/bulk"


def jobs(count: int, **fields: Any) -> dict[str, Any]:
    return {"jobs": [{"type": "echo", "payload": {"n": number}} | fields for number in range(count)]}


async def test_a_thousand_jobs_are_stored_in_the_order_they_were_sent(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    answer = await client.post(BULK, json=jobs(1_000), headers=admin)

    assert answer.status_code == 200
    body = answer.json()
    assert [result["id"] for result in body["results"]] == body["ids"]
    assert {result["outcome"] for result in body["results"]} == {"created"}
    page = await client.get("/api/queues/default/jobs?limit=100", headers=admin)
    assert [job["id"] for job in page.json()["items"]] == body["ids"][:100]
    assert page.json()["total"] == 1_000
    assert (await store.run(reads.job(body["ids"][17]))).payload == b'{"n":17}'


async def test_jobs_of_several_queues_go_to_theirs(client: Client, admin: dict[str, str]) -> None:
    asked = {"jobs": [{"type": "echo", "queue": queue} for queue in ("mail", "reports", "mail")]}

    await client.post(BULK, json=asked, headers=admin)

    queues = (await client.get("/api/queues", headers=admin)).json()["items"]
    assert [(queue["name"], queue["counts"]["ready"]) for queue in queues] == [("mail", 2), ("reports", 1)]


async def test_a_repeat_with_the_same_key_stores_nothing_again(client: Client, admin: dict[str, str]) -> None:
    headers = admin | {"Idempotency-Key": "night run"}

    first = (await client.post(BULK, json=jobs(3), headers=headers)).json()
    again = (await client.post(BULK, json=jobs(3), headers=headers)).json()

    assert again["ids"] == first["ids"]
    assert {result["outcome"] for result in again["results"]} == {"duplicate"}


async def test_each_job_has_an_outcome_of_its_own(client: Client, admin: dict[str, str]) -> None:
    headers = admin | {"Idempotency-Key": "night run"}
    await client.post(BULK, json=jobs(1), headers=headers)
    changed = jobs(2)
    changed["jobs"][0]["priority"] = 9

    results = (await client.post(BULK, json=changed, headers=headers)).json()["results"]

    assert [result["outcome"] for result in results] == ["refused", "created"]
    assert "Idempotency-Key" in results[0]["detail"]
    assert results[1]["detail"] is None


async def test_a_bulk_request_may_be_far_larger_than_one_job(client: Client, admin: dict[str, str]) -> None:
    asked = {"jobs": [{"type": "echo", "payload": "x" * 1_000_000} for _ in range(15)]}

    answer = await client.post(BULK, json=asked, headers=admin)

    assert answer.status_code == 200
    assert len(answer.json()["ids"]) == 15
