"""Query parameters and times at the edges: what is not understood is refused and changes nothing."""

import pytest

from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import PASSWORD, Bearer, Client
from tests.api.support import kill_job

EDGES = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")


async def test_a_misspelt_queue_purges_nothing(client: Client, admin: dict[str, str], store: Store) -> None:
    await kill_job(store, "mail")

    for query in ("queu=mail", "queue=mail&queue=other", "queue=mail&really=yes"):
        answer = await client.post(f"/api/dlq/purge?{query}", headers=admin)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] in query

    assert (await client.get("/api/dlq", headers=admin)).json()["total"] == 1
    assert (await client.post("/api/dlq/purge?queue=mail", headers=admin)).json() == {"removed": 1}


@pytest.mark.parametrize("path", ["/api/jobs?stat=dead", "/api/queues?x=1", "/api/audit?usr=ada", "/api/auth/me?x="])
async def test_a_parameter_a_path_does_not_have_is_refused_by_name(
    client: Client, admin: dict[str, str], path: str
) -> None:
    answer = await client.get(path, headers=admin)

    assert answer.status_code == 400
    assert answer.json()["type"].endswith("invalid-request")
    assert answer.json()["errors"][0]["field"] == path.partition("?")[2].partition("=")[0]


async def test_parameters_that_take_several_values_still_do(client: Client, admin: dict[str, str]) -> None:
    answer = await client.get("/api/jobs?state=dead&state=ready&limit=5", headers=admin)

    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "path", ["/api/jobs?created_until=0.5", "/api/audit?since=7", "/api/metrics/throughput?to=1e9"]
)
async def test_numbers_are_no_times(client: Client, admin: dict[str, str], path: str) -> None:
    answer = await client.get(path, headers=admin)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == path.partition("?")[2].partition("=")[0]


@pytest.mark.parametrize(
    ("path", "choices"),
    [
        ("/api/jobs?state=dead&state=foo", "ready, running, scheduled"),
        ("/api/queues/mail/jobs?state=", "ready, running, scheduled"),
        ("/api/audit?result=null", "ok, refused, failed"),
        ("/api/metrics/throughput?step=7", "10, 300, 3600"),
    ],
)
async def test_a_word_that_is_none_of_a_few_is_refused_with_the_few(
    client: Client, admin: dict[str, str], path: str, choices: str
) -> None:
    answer = await client.get(path, headers=admin)

    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["field"] in path
    assert set(choices.split(", ")) <= set(error["message"].removeprefix("must be one of ").split(", "))


async def test_a_reason_too_long_deletes_nothing(client: Client, admin: dict[str, str], store: Store) -> None:
    job_id = await kill_job(store, "mail")

    refused = await client.delete(f"/api/jobs/{job_id}?reason={'x' * 501}", headers=admin)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "reason")
    assert (await client.delete(f"/api/jobs/{job_id}?reason={'x' * 500}", headers=admin)).status_code == 204


@pytest.mark.parametrize("at", EDGES)
async def test_times_at_the_ends_of_the_calendar_break_nothing(client: Client, admin: dict[str, str], at: str) -> None:
    order = {"action": "cancel", "filter": {"created_since": at}}
    assert (await client.post("/api/bulk", json=order, headers=admin)).status_code == 400
    assert (await client.get("/api/bulk", headers=admin)).json()["total"] == 0

    enqueued = await client.post("/api/jobs", json={"type": "echo", "scheduled_at": at}, headers=admin)

    # What is long over is due now; what is too far away is refused.
    assert enqueued.status_code == (201 if at in EDGES[:1] else 400), enqueued.text
    assert len((await client.get("/api/jobs", headers=admin)).json()["items"]) == (1 if at in EDGES[:1] else 0)


async def test_a_key_used_for_one_operation_makes_no_other(client: Client, admin: dict[str, str]) -> None:
    headers = admin | {"Idempotency-Key": "nightly"}
    first = await client.post("/api/bulk", json={"action": "delete", "filter": {"state": "cancelled"}}, headers=headers)
    again = await client.post("/api/bulk", json={"action": "delete", "filter": {"state": "cancelled"}}, headers=headers)
    other = await client.post("/api/bulk", json={"action": "delete", "filter": {"state": "dead"}}, headers=headers)

    assert first.status_code == again.status_code == 202, first.text
    assert first.json()["id"] == again.json()["id"]
    assert other.status_code == 422


async def test_a_unique_key_shows_a_producer_nothing_of_anothers_job(
    client: Client, bearer: Bearer, admin: dict[str, str]
) -> None:
    theirs = {"type": "secret-type", "queue": "q", "tags": ["vip"], "unique_key": "order-9"}
    await client.post("/api/jobs", json=theirs, headers=admin)

    mine = {"type": "mine", "queue": "q", "unique_key": "order-9"}
    answer = await client.post("/api/jobs", json=mine, headers=bearer(Role.PRODUCER))

    assert answer.status_code == 200
    assert "secret-type" not in answer.text
    assert "vip" not in answer.text
    assert answer.json()["created_by"] == "producer"


async def test_a_token_for_accounts_is_no_way_to_become_an_administrator(client: Client, admin: dict[str, str]) -> None:
    asked = {"name": "hr", "permissions": ["users:write", "users:read"]}
    made = (await client.post("/api/tokens", json=asked, headers=admin)).json()
    token = {"Authorization": f"Bearer {made['token']}"}
    evil = {"username": "evil", "roles": ["admin"], "password": PASSWORD}

    assert (await client.post("/api/users", json=evil, headers=token)).status_code == 403
    assert (await client.patch("/api/users/admin", json={"disabled": True}, headers=token)).status_code == 403
    assert (await client.delete("/api/users/viewer", headers=token)).status_code == 403
    nobody = {"username": "ada", "roles": [], "password": PASSWORD}
    assert (await client.post("/api/users", json=nobody, headers=token)).status_code == 201


async def test_a_new_account_of_an_old_name_does_not_own_its_service_tokens(
    client: Client, admin: dict[str, str]
) -> None:
    account = {"username": "tmp", "roles": ["admin"], "password": PASSWORD}
    await client.post("/api/users", json=account, headers=admin)
    login = await client.post("/api/auth/login", json={"username": "tmp", "password": PASSWORD})
    own = {"Authorization": f"Bearer {login.json()['access_token']}"}
    service = {"name": "billing", "kind": "service", "role": "viewer"}
    made = (await client.post("/api/tokens", json=service, headers=own)).json()
    await client.delete("/api/users/tmp", headers=admin)
    await client.post("/api/users", json=account | {"roles": ["viewer"]}, headers=admin)
    login = await client.post("/api/auth/login", json={"username": "tmp", "password": PASSWORD})
    again = {"Authorization": f"Bearer {login.json()['access_token']}"}

    assert (await client.get("/api/tokens", headers=again)).json()["total"] == 0
    assert (await client.delete(f"/api/tokens/{made['id']}", headers=again)).status_code == 404
    assert (await client.delete(f"/api/tokens/{made['id']}", headers=admin)).status_code == 204


async def test_a_blank_reason_is_none(client: Client, admin: dict[str, str]) -> None:
    job_id = (await client.post("/api/jobs", json={"type": "echo"}, headers=admin)).json()["id"]

    assert (await client.post(f"/api/jobs/{job_id}/reveal", json={"reason": "  "}, headers=admin)).status_code == 400


async def test_a_delete_that_is_declared_as_json_keeps_its_reason(
    client: Client, admin: dict[str, str], store: Store
) -> None:
    job_id = await kill_job(store, "mail")

    await client.delete(f"/api/jobs/{job_id}?reason=because", headers=admin | {"Content-Type": "application/json"})

    [entry] = (await client.get("/api/audit?action=job.delete", headers=admin)).json()["items"]
    assert entry["reason"] == "because"
