"""Another program's keys in the place of ours: lists are without what they should tell, and one place names them."""

from typing import Any

import msgspec
import pytest

from leaseforge import bulk, exchanges, operations
from leaseforge.bulk_records import BulkAction, BulkFilter, BulkOrder
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import kill_job, worker_report
from tests.support.planting import plant_foreign

OPERATION = "f" * 32
LISTS = (
    *("queues", "queues/mail", "queues/mail/jobs", "workers", "jobs", "jobs?type=echo", "dlq", "dlq/groups"),
    *("delayed", "bulk", "system/stats", "system/health", "metrics/throughput", "metrics/types"),
)
INDEXES = ("queues", "workers", "worker:one", "bulk", "bulk-alive", f"bulk:{OPERATION}", "forms")


@pytest.fixture
async def headers(store: Store, bearer: Bearer, _clean: None) -> dict[str, str]:
    """Somebody who may read everything of an installation with one of everything."""
    for worker in ("one", "two"):
        await store.run(exchanges.register_worker(msgspec.structs.replace(worker_report(worker), queues=("mail",))))
    for queue in ("mail", "fine"):
        await store.run(operations.enqueue(new_job("echo", queue=queue)))
    await kill_job(store, "mail")
    await store.run(bulk.create(OPERATION, BulkOrder(BulkAction.RETRY, BulkFilter(queue="mail"), created_by="ada")))
    return bearer(Role.ADMIN)


async def failing(client: Client, headers: dict[str, str]) -> list[tuple[str, int]]:
    answers = [(path, (await client.get(f"/api/{path}", headers=headers)).status_code) for path in LISTS]
    return [(path, status) for path, status in answers if status != 200]


@pytest.mark.parametrize("name", INDEXES)
async def test_a_foreign_key_of_the_installation_fails_no_list(
    client: Client, headers: dict[str, str], redis_client: Any, name: str
) -> None:
    plant_foreign(redis_client, f"lf:{{sys}}:{name}")

    assert await failing(client, headers) == []
    findings = (await client.get("/api/system/health", headers=headers)).json()["findings"]
    told = [one["detail"] for one in findings if one["kind"] == "foreign_keys"]
    # An operation is found by its id alone; one that is not there is in no list.
    assert (f"something else stands in the place of lf:{{sys}}:{name}" in told) == (not name.startswith("bulk:"))
    workers = (await client.get("/api/workers", headers=headers)).json()["items"]
    assert {one["id"] for one in workers} == {"workers": set(), "worker:one": {"two"}}.get(name, {"one", "two"})


@pytest.mark.parametrize("name", ["meta", "counts", "ready", "dead", "dead:groups", "types"])
async def test_a_foreign_key_of_a_queue_fails_no_list(
    client: Client, headers: dict[str, str], redis_client: Any, name: str
) -> None:
    plant_foreign(redis_client, f"lf:{{mail}}:{name}")

    assert await failing(client, headers) == []
    queues = (await client.get("/api/queues", headers=headers)).json()["items"]
    assert [one["name"] for one in queues] == ["fine", "mail"]


async def test_what_is_no_queues_name_among_the_queues_fails_no_list(
    client: Client, headers: dict[str, str], redis_client: Any
) -> None:
    redis_client.zadd("lf:{sys}:queues", dict.fromkeys([b"\xff\xfe", "no where", "a}b{c"], 1))

    assert await failing(client, headers) == []
    queues = (await client.get("/api/queues", headers=headers)).json()
    assert [one["name"] for one in queues["items"]] == ["fine", "mail"]
    assert "'no where'" in (await client.get("/api/system/health", headers=headers)).text
