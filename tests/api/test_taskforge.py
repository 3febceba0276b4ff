"""TaskForge's paths: a program written for it notices the token, and nothing else."""

import json
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import claim_job, kill_job, settle

BODY = {
    "type": "generate_pdf",
    "priority": 10,
    "max_retries": 2,
    "scheduled_at": "2031-08-19T15:30:00Z",
    "payload": {"a": 1},
}


async def enqueued(client: Client, headers: dict[str, str], **fields: Any) -> str:
    answer = await client.post("/enqueue", json={"type": "echo"} | fields, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-job-id"]


async def test_a_job_is_taken_with_a_line_of_text_and_its_id(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    answer = await client.post("/enqueue", json=BODY, headers=admin)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert answer.text == "job enqueued\n"
    job_id = answer.headers["x-job-id"]
    assert answer.headers["location"] == f"/jobs/{job_id}"
    job = await store.run(reads.job(job_id))
    assert (job.queue, job.state, job.options.max_attempts, job.created_by) == ("default", "scheduled", 2, "admin")
    shown = (await client.get(f"/jobs/{job_id}", headers=admin)).json()
    assert shown == {
        "id": job_id,
        "type": "generate_pdf",
        "status": "pending",
        "priority": 10,
        "max_retries": 2,
        "attempts": 0,
        "created_at": shown["created_at"],
        "scheduled_at": "2031-08-19T15:30:00.000Z",
        "payload": {"a": 1},
    }


async def test_what_is_left_out_has_taskforges_defaults(client: Client, admin: dict[str, str]) -> None:
    for body in ({}, {"priority": None, "max_retries": None}, {"id": "mine", "status": "completed", "attempts": 7}):
        job_id = await enqueued(client, admin, **body)

        job = (await client.get(f"/jobs/{job_id}", headers=admin)).json()
        assert (job["status"], job["priority"], job["max_retries"], job["attempts"]) == ("pending", 0, 3, 0)
        assert job["payload"] == {}


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-www-form-urlencoded", None])
async def test_a_body_is_json_whatever_it_is_called(kind: str | None, client: Client, admin: dict[str, str]) -> None:
    headers = admin | ({"Content-Type": kind} if kind else {})

    answer = await client.post("/enqueue", content=b'{"type":"echo","payload":[1.10]}', headers=headers)

    assert answer.status_code == 200
    shown = await client.get(f"/jobs/{answer.headers['x-job-id']}", headers=admin)
    assert b'"payload":[1.10]' in shown.content


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"echo"',
        b"{}",
        b'{"type": ""}',
        b'{"type": 5}',
        b'{"type": "echo", "max_retries": 0}',
        b'{"type": "echo", "max_retries": -1}',
        b'{"type": "echo", "max_retries": "3"}',
        b'{"type": "echo", "priority": 1.5}',
        b'{"type": "echo", "priority": 99999999999}',
        b'{"type": "echo", "scheduled_at": "tomorrow"}',
        b'{"type": "echo", "scheduled_at": "2031-01-01T00:00:00"}',
        b'{"type": "echo", "scheduled_at": "2131-01-01T00:00:00Z"}',
        b'{"type": "\xff"}',
    ],
)
async def test_a_broken_request_is_400_and_stores_nothing(
    body: bytes, client: Client, admin: dict[str, str], store: Store
) -> None:
    answer = await client.post("/enqueue", content=body, headers=admin | {"Content-Type": "application/json"})

    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["error"] == answer.json()["detail"] != ""
    assert await store.run(reads.queues()) == []


async def test_a_body_over_one_mebibyte_is_413(client: Client, admin: dict[str, str]) -> None:
    body = json.dumps({"type": "echo", "payload": "x" * 1024 * 1024}).encode()

    answer = await client.post("/enqueue", content=body, headers=admin)

    assert answer.status_code == 413
    assert "error" in answer.json()


async def test_a_repeat_with_the_same_key_is_the_same_job(client: Client, admin: dict[str, str]) -> None:
    headers = admin | {"Idempotency-Key": "order 17"}

    assert await enqueued(client, headers) == await enqueued(client, headers)
    assert (await client.post("/enqueue", json={"type": "other"}, headers=headers)).status_code == 422


async def test_each_state_has_taskforges_word(client: Client, admin: dict[str, str], store: Store) -> None:
    async def seen(job_id: str) -> dict[str, Any]:
        job: dict[str, Any] = (await client.get(f"/jobs/{job_id}", headers=admin)).json()
        return job

    running = await claim_job(store)
    assert (await seen(running.id))["status"] == "processing"
    await settle(store, running, Outcome.FAIL, error_kind="E", error_message="no", delay_ms=60_000, max_attempts=3)
    retrying = await seen(running.id)
    assert (retrying["status"], retrying["error"], retrying["attempts"]) == ("retrying", "no", 1)
    assert retrying["next_retry_at"] > retrying["started_at"]
    done = await claim_job(store)
    await settle(store, done, Outcome.COMPLETE)
    completed = await seen(done.id)
    assert (completed["status"], "error" in completed) == ("completed", False)
    assert completed["completed_at"] >= completed["started_at"]
    waiting = await enqueued(client, admin)
    assert (await seen(waiting))["status"] == "pending"
    await store.run(operations.cancel(waiting, operation="op"))
    cancelled = await seen(waiting)
    assert (cancelled["status"], cancelled["error"]) == ("dead", "cancelled")
    assert (await client.get("/dlq", headers=admin)).json() == []


@pytest.mark.parametrize(
    ("job_id", "status"),
    [
        ("00000000-0000-4000-8000-000000000000", 404),
        ("x", 400),
        ("%2F", 400),
        ("%25", 400),
        ("%3F", 400),
        ("+", 400),
        ("\N{PILE OF POO}", 400),
        ("8F3B0000-0000-4000-8000-000000000000", 400),
    ],
)
async def test_ids_of_nobody(job_id: str, status: int, client: Client, admin: dict[str, str]) -> None:
    answer = await client.get(f"/jobs/{job_id}", headers=admin)

    assert answer.status_code == status
    if status == 404:
        assert answer.json()["error"] == "job not found"
    retry = await client.post(f"/dlq/{job_id}/retry", headers=admin)
    assert (retry.status_code, retry.json()["error"]) == (404, "job not found")


async def test_dead_jobs_are_listed_whole_and_replayed(client: Client, admin: dict[str, str], store: Store) -> None:
    ids = [await kill_job(store, queue) for queue in ("default", "mail", "default")]

    listed = (await client.get("/dlq", headers=admin)).json()
    assert {job["id"] for job in listed} == set(ids)
    assert {(job["status"], job["error"], job["payload"]["a"]) for job in listed} == {("dead", "no such address", 1)}
    assert len((await client.get("/dlq?limit=2", headers=admin)).json()) == 2

    replayed = await client.post(f"/dlq/{ids[0]}/retry", headers=admin)

    assert replayed.status_code == 200
    job = replayed.json()
    assert (job["id"], job["status"], job["attempts"], "error" in job) == (ids[0], "pending", 0, False)
    assert (await client.post(f"/dlq/{ids[0]}/retry", headers=admin)).status_code == 409
    assert (await store.run(reads.job(ids[0]))).state is JobState.READY
    assert len((await client.get("/dlq", headers=admin)).json()) == 2


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "", "1.5"])
async def test_a_limit_out_of_bounds_is_400(limit: str, client: Client, admin: dict[str, str]) -> None:
    answer = await client.get(f"/dlq?limit={limit}", headers=admin)

    assert (answer.status_code, "error" in answer.json()) == (400, True)


async def test_other_methods_are_405(client: Client, admin: dict[str, str]) -> None:
    job_id = await enqueued(client, admin)
    for method, path, allowed in (
        ("GET", "/enqueue", {"OPTIONS", "POST"}),
        ("POST", f"/jobs/{job_id}", {"GET", "HEAD", "OPTIONS"}),
        ("DELETE", "/dlq", {"GET", "HEAD", "OPTIONS"}),
        ("GET", f"/dlq/{job_id}/retry", {"OPTIONS", "POST"}),
    ):
        answer = await client.request(method, path, headers=admin)

        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == allowed


async def test_who_may_do_what_is_as_everywhere(client: Client, bearer: Bearer, store: Store) -> None:
    producer, viewer = bearer(Role.PRODUCER), bearer(Role.VIEWER)
    own = await enqueued(client, producer, payload={"password": "hunter2", "to": "ada"})
    other = new_job("echo", {})
    await store.run(operations.enqueue(other))

    assert (await client.get(f"/jobs/{own}", headers=producer)).json()["payload"] == {
        "password": "[masked]",
        "to": "ada",
    }
    assert (await client.get(f"/jobs/{other.id}", headers=producer)).status_code == 404
    assert "payload" not in (await client.get(f"/jobs/{own}", headers=viewer)).json()
    assert (await client.post("/enqueue", json={"type": "echo"}, headers=viewer)).status_code == 403
    assert (await client.get("/dlq", headers=producer)).status_code == 403
    assert (await client.post("/enqueue", json={"type": "echo"})).status_code == 401
