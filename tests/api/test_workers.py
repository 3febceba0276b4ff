"""Workers over HTTP: one of them, and what operators want of it."""

import pytest

from leaseforge import exchanges
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import report_worker, worker_report
from tests.api.test_job_actions import ODD_IDS


async def test_one_worker_is_found_among_many(client: Client, admin: dict[str, str], store: Store) -> None:
    for number in range(120):
        await report_worker(store, f"host:{number}")

    seen = [(await client.get(f"/api/workers/host:{number}", headers=admin)).json() for number in (0, 119)]

    assert [worker["id"] for worker in seen] == ["host:0", "host:119"]
    assert (seen[0]["state"], seen[0]["slots"], seen[0]["queues"]) == ("running", 4, ["default"])
    listed = (await client.get("/api/workers?limit=100", headers=admin)).json()
    assert (len(listed["items"]), listed["total"]) == (100, 120)
    stats = (await client.get("/api/system/stats", headers=admin)).json()
    assert (stats["workers"], stats["slots"]) == (120, 480)


@pytest.mark.parametrize("command", ["quiet", "resume", "stop"])
async def test_a_command_is_heard_at_the_workers_next_report(
    command: str, client: Client, admin: dict[str, str], store: Store
) -> None:
    await report_worker(store, "one")

    answer = await client.post(f"/api/workers/one/{command}", json={"reason": "deploy"}, headers=admin)

    assert answer.status_code == 202
    assert (answer.json()["id"], answer.json()["state"]) == ("one", "running")
    heard = await store.run(exchanges.register_worker(worker_report("one")))
    assert heard.command == command


@pytest.mark.parametrize("worker_id", ODD_IDS)
async def test_a_worker_nobody_knows_is_not_found(
    worker_id: str, client: Client, admin: dict[str, str], store: Store
) -> None:
    await report_worker(store, "one")
    for method, path in (("GET", ""), ("POST", "/quiet"), ("POST", "/resume"), ("POST", "/stop")):
        answer = await client.request(method, f"/api/workers/{worker_id}{path}", headers=admin)

        # A path that `..` leads elsewhere has other methods.
        assert answer.status_code in (404, 405) or (worker_id in ("..", "%2e%2e") and method == "GET")


@pytest.mark.parametrize(
    "worker_id", ["a+b %?#", "\N{PILE OF POO}", "x" * 256, "rack 1/node-2", "%2F", "/", "a/b%2Fc%25", "../quiet"]
)
async def test_odd_names_are_names(worker_id: str, client: Client, admin: dict[str, str], store: Store) -> None:
    await report_worker(store, worker_id)
    quoted = "".join(f"%{byte:02X}" for byte in worker_id.encode())

    assert (await client.get(f"/api/workers/{quoted}", headers=admin)).json()["id"] == worker_id
    assert (await client.post(f"/api/workers/{quoted}/quiet", headers=admin)).status_code == 202
    assert (await store.run(exchanges.register_worker(worker_report(worker_id)))).command == "quiet"


async def test_wrong_bodies_and_callers_are_not_heard(client: Client, bearer: Bearer, store: Store) -> None:
    await report_worker(store, "one")
    operator = bearer(Role.OPERATOR)

    assert (await client.post("/api/workers/one/stop", json={"now": True}, headers=operator)).status_code == 400
    assert (await client.post("/api/workers/one/stop", headers=bearer(Role.VIEWER))).status_code == 403
    assert (await client.post("/api/workers/one/restart", headers=operator)).status_code == 404
    assert (await client.post("/api/workers/one/stop")).status_code == 401

    assert (await store.run(exchanges.register_worker(worker_report("one")))).command == ""
