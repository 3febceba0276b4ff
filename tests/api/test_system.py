"""The whole installation at a glance: numbers, and what is not as it should be."""

from typing import Any

import pytest
import redis

from leaseforge import operations
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.keys import queue_key
from leaseforge.queues import QueueInfo
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_api.findings import findings, redis_health
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import claim_job, kill_job, report_worker, settle


async def kinds(client: Client, headers: dict[str, str]) -> list[tuple[str, str | None]]:
    answer = await client.get("/api/system/health", headers=headers)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    assert found["findings_total"] == len(found["findings"])
    assert (found["status"] == "ok") is (not found["findings"])
    return [(one["kind"], one["queue"]) for one in found["findings"] if one["kind"] != "appendonly_off"]


async def test_stats_have_the_numbers_an_overview_needs(client: Client, admin: dict[str, str], store: Store) -> None:
    await kill_job(store)
    await settle(store, await claim_job(store), Outcome.COMPLETE)
    await settle(store, await claim_job(store), Outcome.FAIL, error_kind="E", delay_ms=60_000)
    await claim_job(store)
    await store.run(operations.enqueue(new_job("echo", delay_ms=60_000)))

    stats = (await client.get("/api/system/stats", headers=admin)).json()

    wanted = {"enqueued": 5, "processing": 1, "delayed": 2, "completed": 1, "dead": 1}
    assert {name: stats[name] for name in wanted} == wanted


async def test_health_tells_what_redis_is(client: Client, bearer: Bearer) -> None:
    health = (await client.get("/api/system/health", headers=bearer(Role.VIEWER))).json()

    assert health["redis"]["version"] != "unknown"
    assert health["redis"]["memory_bytes"] > 0
    assert health["redis"]["latency_ms"] >= 0
    assert (await client.get("/api/system/health", headers=bearer(Role.PRODUCER))).status_code == 403
    assert (await client.get("/api/system/health")).status_code == 401


async def test_a_queue_nobody_works_on_is_found(client: Client, admin: dict[str, str], store: Store) -> None:
    assert await kinds(client, admin) == []
    for queue in ("default", "mail"):
        await store.run(operations.enqueue(new_job("echo", queue=queue)))
    assert await kinds(client, admin) == [("no_worker", "default"), ("no_worker", "mail")]

    await report_worker(store, "one")
    await client.post("/api/queues/mail/pause", headers=admin)

    assert await kinds(client, admin) == [("paused_with_jobs", "mail")]


async def test_a_damaged_queue_and_a_silent_worker_are_found(
    client: Client, admin: dict[str, str], store: Store, redis_client: "redis.Redis"
) -> None:
    await report_worker(store, "one")
    redis_client.zadd("lf:{sys}:workers", {"one": 1})
    await store.run(operations.enqueue(new_job("echo", delay_ms=60_000)))
    redis_client.set(queue_key("default", "dead"), "foreign")

    assert await kinds(client, admin) == [("worker_lost", None), ("foreign_keys", "default")]


@pytest.mark.parametrize(
    ("info", "found"),
    [
        ({}, []),
        ({"aof_enabled": 0}, ["appendonly_off"]),
        ({"used_memory": 95, "maxmemory": 100}, ["memory_high"]),
        ({"used_memory": 80, "maxmemory": 100, "aof_enabled": 1}, []),
        ({"used_memory": "much", "maxmemory": 0}, []),
    ],
)
def test_what_a_server_says_of_itself_is_judged(info: dict[str, Any], found: list[str]) -> None:
    empty = QueueInfo("q", False, dict.fromkeys(JobState, 0), None, {}, 0, 0)

    assert [one.kind for one in findings(redis_health(info, latency_ms=1.0), [empty], [])] == found
