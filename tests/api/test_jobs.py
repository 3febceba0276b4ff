"""Enqueueing, looking at, retrying and deleting jobs over HTTP."""

import base64
import uuid
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import claim_job, kill_job

JOB = {"type": "echo", "payload": {"a": 1}}


async def test_a_job_is_answered_with_its_place_and_all_its_fields(client: Client, admin: dict[str, str]) -> None:
    asked = JOB | {
        "queue": "mail",
        "priority": -7,
        "max_attempts": 5,
        "delay_seconds": 90.5,
        "timeout_seconds": 2.5,
        "backoff": {"kind": "fixed", "base_seconds": 0.5},
        "tags": ["blue", "eu"],
    }

    answer = await client.post("/api/jobs", json=asked, headers=admin)

    assert answer.status_code == 201
    job = answer.json()
    assert answer.headers["location"] == f"/api/jobs/{job['id']}"
    assert uuid.UUID(job["id"]).version == 4
    assert job["status"] == "scheduled"
    assert {name: job[name] for name in asked if name not in ("backoff", "delay_seconds")} == {
        name: value for name, value in asked.items() if name not in ("backoff", "delay_seconds")
    }
    assert job["backoff"] == {"kind": "fixed", "base_seconds": 0.5, "cap_seconds": None}
    assert job["created_by"] == "admin"
    assert len(job["created_at"]) == len("2026-08-19T15:30:00.000Z")
    assert job["created_at"] < job["scheduled_at"]
    assert (await client.get(answer.headers["location"], headers=admin)).json() == job


async def test_a_job_that_only_names_its_type_is_ready_with_an_empty_payload(
    client: Client, admin: dict[str, str]
) -> None:
    job = (await client.post("/api/jobs", json={"type": "echo"}, headers=admin)).json()

    assert (job["queue"], job["status"], job["priority"], job["payload"]) == ("default", "ready", 0, {})
    assert (job["max_attempts"], job["timeout_seconds"], job["backoff"]) == (None, None, None)


PAYLOAD = b'{ "n":1.10,\t"n":2, "big":123456789012345678901234567890, "e":"\\u00e9\xc3\xa9", "z":[ ] }'


async def test_the_payload_is_kept_byte_for_byte(client: Client, admin: dict[str, str], store: Store) -> None:
    body = b'{"type": "echo", "payload": ' + PAYLOAD + b"}"

    answer = await client.post("/api/jobs", content=body, headers=admin | {"Content-Type": "application/json"})

    job = await store.run(reads.job(answer.json()["id"]))
    assert job.payload == PAYLOAD
    assert PAYLOAD in answer.content
    assert PAYLOAD in (await client.get(f"/api/jobs/{job.id}", headers=admin)).content


@pytest.mark.parametrize("payload", [b"null", b"[]", b'""', b"1e400", b"-0.0", b'{"":{}}'])
async def test_any_json_is_a_payload(payload: bytes, client: Client, admin: dict[str, str], store: Store) -> None:
    body = b'{"type":"echo","payload":' + payload + b"}"

    answer = await client.post("/api/jobs", content=body, headers=admin | {"Content-Type": "application/json"})

    assert answer.status_code == 201
    assert (await store.run(reads.job(answer.json()["id"]))).payload == payload


async def test_an_instant_with_any_zone_schedules_a_job(client: Client, admin: dict[str, str]) -> None:
    answer = await client.post("/api/jobs", json=JOB | {"scheduled_at": "2031-01-01T02:00:00+02:00"}, headers=admin)

    assert answer.json()["scheduled_at"] == "2031-01-01T00:00:00.000Z"


async def test_an_instant_in_the_past_is_at_once(client: Client, admin: dict[str, str]) -> None:
    answer = await client.post("/api/jobs", json=JOB | {"scheduled_at": "2001-01-01T00:00:00Z"}, headers=admin)

    assert answer.json()["status"] == "ready"


async def test_a_repeat_with_the_same_key_answers_the_first_job(client: Client, admin: dict[str, str]) -> None:
    headers = admin | {"Idempotency-Key": "order 17"}

    first = await client.post("/api/jobs", json=JOB, headers=headers)
    again = await client.post("/api/jobs", json=JOB, headers=headers)

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert again.headers["location"] == first.headers["location"]
    assert (await client.get("/api/queues/default", headers=admin)).json()["counts"]["ready"] == 1


async def test_a_key_that_was_used_for_another_job_is_refused(client: Client, admin: dict[str, str]) -> None:
    headers = admin | {"Idempotency-Key": "order 17"}
    await client.post("/api/jobs", json=JOB, headers=headers)

    answer = await client.post("/api/jobs", json=JOB | {"priority": 1}, headers=headers)

    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:leaseforge:problem:idempotency-conflict"


async def test_two_callers_may_use_the_same_key(client: Client, bearer: Bearer) -> None:
    answers = [
        await client.post("/api/jobs", json=JOB, headers=bearer(role) | {"Idempotency-Key": "k"})
        for role in (Role.ADMIN, Role.PRODUCER)
    ]

    assert [answer.status_code for answer in answers] == [201, 201]


async def test_a_repeat_after_the_job_is_gone_still_answers_its_id(client: Client, admin: dict[str, str]) -> None:
    headers = admin | {"Idempotency-Key": "order 17"}
    first = (await client.post("/api/jobs", json=JOB, headers=headers)).json()
    await client.delete(f"/api/jobs/{first['id']}", headers=admin)

    again = await client.post("/api/jobs", json=JOB, headers=headers)

    assert again.status_code == 200
    assert (again.json()["id"], again.json()["status"]) == (first["id"], "gone")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",) * 2,
        ("broken", None),
    ],
)
async def test_the_callers_trace_goes_with_the_job(
    sent: str, kept: str | None, client: Client, admin: dict[str, str]
) -> None:
    answer = await client.post("/api/jobs", json=JOB, headers=admin | {"traceparent": sent})

    assert answer.status_code == 201
    assert answer.json()["traceparent"] == kept


@pytest.mark.parametrize("job_id", ["00000000-0000-4000-8000-000000000000", "x", "é", "..", "a" * 5000, "%00", "*"])
async def test_an_id_nobody_has_is_not_found(job_id: str, client: Client, admin: dict[str, str]) -> None:
    answer = await client.get(f"/api/jobs/{job_id}", headers=admin)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


async def test_secrets_in_a_payload_are_masked_for_everybody(client: Client, admin: dict[str, str]) -> None:
    asked = {"type": "mail", "payload": {"to": "ada", "smtp": {"password": "hunter2"}}}

    job = (await client.post("/api/jobs", json=asked, headers=admin)).json()

    assert job["payload"] == {"to": "ada", "smtp": {"password": "[masked]"}}
    assert job["payload_masked"] is True


async def test_a_viewer_sees_a_job_without_its_payload(client: Client, bearer: Bearer) -> None:
    job = (await client.post("/api/jobs", json=JOB, headers=bearer(Role.OPERATOR))).json()
    assert job["payload"] == {"a": 1}

    seen = (await client.get(f"/api/jobs/{job['id']}", headers=bearer(Role.VIEWER))).json()

    assert not {"payload", "payload_base64", "result", "result_base64"} & seen.keys()
    assert seen["payload_masked"] is True


async def test_a_producer_sees_its_own_jobs_and_no_others(client: Client, bearer: Bearer) -> None:
    own = (await client.post("/api/jobs", json=JOB, headers=bearer(Role.PRODUCER))).json()
    other = (await client.post("/api/jobs", json=JOB, headers=bearer(Role.ADMIN))).json()

    seen = await client.get(f"/api/jobs/{own['id']}", headers=bearer(Role.PRODUCER))
    hidden = await client.get(f"/api/jobs/{other['id']}", headers=bearer(Role.PRODUCER))
    missing = await client.get("/api/jobs/00000000-0000-4000-8000-000000000000", headers=bearer(Role.PRODUCER))

    assert (seen.status_code, seen.json()["payload"]) == (200, {"a": 1})
    assert (hidden.status_code, missing.status_code) == (404, 404)
    assert hidden.json()["title"] == missing.json()["title"]


async def test_bytes_are_shown_as_base64(client: Client, admin: dict[str, str], store: Store) -> None:
    job = new_job("echo", b"\x00\xff")
    await store.run(operations.enqueue(job))

    seen = (await client.get(f"/api/jobs/{job.id}", headers=admin)).json()

    assert base64.b64decode(seen["payload_base64"]) == b"\x00\xff"
    assert "payload" not in seen


async def test_bytes_that_only_claim_to_be_json_do_not_break_the_answer(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    job = new_job("echo", b'{"broken', content_type="application/json")
    await store.run(operations.enqueue(job))

    answer = await client.get(f"/api/jobs/{job.id}", headers=admin)

    assert base64.b64decode(answer.json()["payload_base64"]) == b'{"broken'


async def test_a_dead_job_is_retried_with_a_fresh_budget(client: Client, admin: dict[str, str], store: Store) -> None:
    job_id = await kill_job(store)
    dead = (await client.get(f"/api/jobs/{job_id}", headers=admin)).json()
    assert (dead["status"], dead["failures"], dead["error"]["kind"]) == ("dead", 1, "ValueError")
    assert dead["history"][0]["outcome"] == "failed"

    answer = await client.post(f"/api/jobs/{job_id}/retry", headers=admin)

    assert answer.status_code == 200
    job = answer.json()
    assert (job["status"], job["failures"], job["replays"], job["attempts"]) == ("ready", 0, 1, 1)
    assert len(job["history"]) == 1


async def test_a_retry_may_bring_another_payload(client: Client, admin: dict[str, str], store: Store) -> None:
    job_id = await kill_job(store)
    body = {"payload": {"corrected": True}, "reason": "the address was wrong"}

    answer = await client.post(f"/api/jobs/{job_id}/retry", json=body, headers=admin)

    assert answer.json()["payload"] == {"corrected": True}


async def test_a_retry_with_a_payload_over_one_mebibyte_is_refused(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    job_id = await kill_job(store)

    answer = await client.post(f"/api/jobs/{job_id}/retry", json={"payload": "x" * 1024 * 1024}, headers=admin)

    assert answer.status_code == 413
    assert answer.json()["errors"][0]["field"] == "payload"
    assert (await client.get(f"/api/jobs/{job_id}", headers=admin)).json()["status"] == "dead"


async def test_a_retry_repeated_with_the_same_key_is_done_once(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    job_id = await kill_job(store)
    headers = admin | {"Idempotency-Key": "click 1"}

    answers = [await client.post(f"/api/jobs/{job_id}/retry", headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[1].json()["replays"] == 1


@pytest.mark.parametrize("state", [JobState.READY, JobState.SCHEDULED])
async def test_only_a_dead_job_is_retried(state: JobState, client: Client, admin: dict[str, str]) -> None:
    asked: dict[str, Any] = JOB | ({"delay_seconds": 60} if state is JobState.SCHEDULED else {})
    job = (await client.post("/api/jobs", json=asked, headers=admin)).json()

    answer = await client.post(f"/api/jobs/{job['id']}/retry", headers=admin)

    assert answer.status_code == 409
    assert state.value in answer.json()["detail"]
    assert (await client.get(f"/api/jobs/{job['id']}", headers=admin)).json() == job


async def test_a_second_job_with_the_unique_key_of_a_live_one_is_answered_as_its_duplicate(
    client: Client, admin: dict[str, str]
) -> None:
    asked = JOB | {"unique_key": "invoice 17", "unique_ttl_seconds": 60}
    first = await client.post("/api/jobs", json=asked, headers=admin)

    second = await client.post("/api/jobs", json=asked, headers=admin)

    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["id"] == first.json()["id"]
    assert first.json()["unique_key"] == "invoice 17"


async def test_a_lifetime_of_a_unique_key_outside_the_bounds_is_refused(client: Client, admin: dict[str, str]) -> None:
    answer = await client.post("/api/jobs", json=JOB | {"unique_key": "k", "unique_ttl_seconds": 0.1}, headers=admin)

    assert answer.status_code == 400


async def test_a_retry_waits_for_the_live_job_that_holds_its_unique_key(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    job_id = await kill_job(store, unique_key="invoice 17")
    holder = await claim_job(store, unique_key="invoice 17")

    answer = await client.post(f"/api/jobs/{job_id}/retry", headers=admin)

    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:leaseforge:problem:unique-key-taken"
    assert holder.id in answer.json()["detail"]
    assert (await client.get(f"/api/jobs/{job_id}", headers=admin)).json()["status"] == "dead"


async def test_a_deleted_job_is_gone(client: Client, admin: dict[str, str]) -> None:
    job = (await client.post("/api/jobs", json=JOB, headers=admin)).json()

    assert (await client.delete(f"/api/jobs/{job['id']}", headers=admin)).status_code == 204
    assert (await client.get(f"/api/jobs/{job['id']}", headers=admin)).status_code == 404
    assert (await client.delete(f"/api/jobs/{job['id']}", headers=admin)).status_code == 404


async def test_a_running_job_is_not_deleted(client: Client, admin: dict[str, str], store: Store) -> None:
    claimed = await claim_job(store)

    answer = await client.delete(f"/api/jobs/{claimed.id}", headers=admin)

    assert answer.status_code == 409
    running = (await client.get(f"/api/jobs/{claimed.id}", headers=admin)).json()
    assert (running["status"], running["lease"]["token"], running["worker"]) == ("running", claimed.fence, "tester")
