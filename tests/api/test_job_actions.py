"""Cancelling and requeueing jobs over HTTP, and what they logged."""

import pytest

from leaseforge import attempts, reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import claim_job, kill_job, settle

JOB = {"type": "echo", "payload": {"a": 1}}
ODD_IDS = [
    "%2F",
    "+",
    "%25",
    "%3F",
    "%23",
    "..",
    "%2e%2e",
    "\N{PILE OF POO}",
    "a" * 5000,
    "%00",
    "00000000-0000-4000-8000-000000000000",
]
VERBS = ("cancel", "requeue", "retry")


async def enqueued(client: Client, headers: dict[str, str], **fields: object) -> str:
    answer = await client.post("/api/jobs", json=JOB | fields, headers=headers)
    job_id: str = answer.json()["id"]
    return job_id


async def test_a_job_that_waits_is_cancelled_at_once(client: Client, admin: dict[str, str]) -> None:
    for fields in ({}, {"delay_seconds": 60}):
        job_id = await enqueued(client, admin, **fields)

        answer = await client.post(f"/api/jobs/{job_id}/cancel", json={"reason": "wrong campaign"}, headers=admin)

        assert answer.status_code == 200
        job = answer.json()
        assert (job["status"], job["cancel_requested"]) == ("cancelled", False)
        assert job["finished_at"] is not None
        assert job == (await client.get(f"/api/jobs/{job_id}", headers=admin)).json()


async def test_a_running_job_is_asked_to_stop(client: Client, admin: dict[str, str], store: Store) -> None:
    claimed = await claim_job(store)

    answer = await client.post(f"/api/jobs/{claimed.id}/cancel", headers=admin)

    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["cancel_requested"]) == ("running", True)
    await settle(store, claimed, Outcome.CANCELLED)
    assert (await client.get(f"/api/jobs/{claimed.id}", headers=admin)).json()["status"] == "cancelled"


@pytest.mark.parametrize("outcome", [Outcome.COMPLETE, Outcome.CANCELLED, Outcome.FAIL])
async def test_an_ended_job_runs_once_more_without_its_old_result(
    outcome: Outcome, client: Client, admin: dict[str, str], store: Store
) -> None:
    claimed = await claim_job(store)
    result = {"result": b'"done"'} if outcome is Outcome.COMPLETE else {}
    await settle(store, claimed, outcome, permanent="told_so" if outcome is Outcome.FAIL else "", **result)

    answer = await client.post(f"/api/jobs/{claimed.id}/requeue", headers=admin)

    assert answer.status_code == 200
    job = answer.json()
    assert (job["status"], job["replays"], job["result"], job["finished_at"]) == ("ready", 1, None, None)


@pytest.mark.parametrize(("verb", "state"), [("requeue", "ready"), ("requeue", "running"), ("cancel", "dead")])
async def test_what_a_state_does_not_allow_is_a_conflict(
    verb: str, state: str, client: Client, admin: dict[str, str], store: Store
) -> None:
    match state:
        case "dead":
            job_id = await kill_job(store)
        case "running":
            job_id = (await claim_job(store)).id
        case _:
            job_id = await enqueued(client, admin)

    answer = await client.post(f"/api/jobs/{job_id}/{verb}", headers=admin)

    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:leaseforge:problem:invalid-transition"
    assert state in answer.json()["detail"]
    assert (await store.run(reads.job(job_id))).state is JobState(state)


async def test_the_same_key_does_a_thing_once_and_another_verb_is_another_thing(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    job_id = await kill_job(store)
    headers = admin | {"Idempotency-Key": "click 1"}

    for verb in ("requeue", "requeue", "cancel", "cancel"):
        answer = await client.post(f"/api/jobs/{job_id}/{verb}", headers=headers)
        assert answer.status_code == 200, verb

    assert (answer.json()["status"], answer.json()["replays"]) == ("cancelled", 1)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("job_id", ODD_IDS)
async def test_an_id_nobody_has_is_not_found(verb: str, job_id: str, client: Client, admin: dict[str, str]) -> None:
    await client.post("/api/jobs", json=JOB, headers=admin)

    answer = await client.post(f"/api/jobs/{job_id}/{verb}", headers=admin)

    assert answer.status_code in (404, 405)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("verb", VERBS)
async def test_wrong_bodies_and_callers_change_nothing(verb: str, client: Client, bearer: Bearer, store: Store) -> None:
    job_id = await kill_job(store)
    before = await store.run(reads.job(job_id))
    path = f"/api/jobs/{job_id}/{verb}"
    operator = bearer(Role.OPERATOR)

    assert (await client.post(path, json={"resaon": "x"}, headers=operator)).status_code == 400
    assert (await client.post(path, json={"reason": ""}, headers=operator)).status_code == 400
    assert (await client.post(path, content="x", headers=operator)).status_code == 415
    assert (await client.post(path, headers=bearer(Role.PRODUCER))).status_code == 403
    assert (await client.post(path, headers=bearer(Role.VIEWER))).status_code == 403
    assert (await client.post(path)).status_code == 401

    assert await store.run(reads.job(job_id)) == before


async def test_log_lines_come_oldest_first_and_in_pages(client: Client, admin: dict[str, str], store: Store) -> None:
    claimed = await claim_job(store)
    lines = [f"line {number}" for number in range(5)]
    await store.run(attempts.log(claimed.queue, claimed.id, claimed.token, first=1, lines=lines))

    first = (await client.get(f"/api/jobs/{claimed.id}/log?limit=3", headers=admin)).json()
    rest = (await client.get(f"/api/jobs/{claimed.id}/log?limit=3&cursor={first['next']}", headers=admin)).json()

    assert [line["text"] for page in (first, rest) for line in page["items"]] == lines
    assert (first["total"], rest["next"]) == (5, None)
    assert first["items"][0]["number"] == 1
    assert first["items"][0]["token"] == claimed.fence


async def test_a_producer_reads_the_log_of_its_own_jobs_only(client: Client, bearer: Bearer, store: Store) -> None:
    own = await enqueued(client, bearer(Role.PRODUCER))
    other = await enqueued(client, bearer(Role.ADMIN))

    assert (await client.get(f"/api/jobs/{own}/log", headers=bearer(Role.PRODUCER))).json()["items"] == []
    assert (await client.get(f"/api/jobs/{other}/log", headers=bearer(Role.PRODUCER))).status_code == 404
    assert (await client.get(f"/api/jobs/{other}/log", headers=bearer(Role.VIEWER))).status_code == 200


@pytest.mark.parametrize("job_id", ODD_IDS)
async def test_nobody_has_no_log(job_id: str, client: Client, admin: dict[str, str]) -> None:
    answer = await client.get(f"/api/jobs/{job_id}/log", headers=admin)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
