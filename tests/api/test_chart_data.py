"""Throughput and durations over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis

from leaseforge import operations, statistics
from leaseforge.exchanges import Outcome
from leaseforge.keys import system_key
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client
from tests.api.support import claim_job, kill_job, settle

THROUGHPUT = "/api/metrics/throughput"


async def asked(client: Client, headers: dict[str, str], path: str = THROUGHPUT, **params: Any) -> Any:
    answer = await client.get(path, params=params, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ago(**span: float) -> str:
    return (datetime.now(UTC) - timedelta(**span)).isoformat()


def total(series: dict[str, Any], name: str) -> int:
    return sum(point[name] for point in series["points"])


async def test_the_last_quarter_of_an_hour_is_what_one_sees_without_asking(
    client: Client, admin: dict[str, str], store: Store, redis_client: "redis.Redis"
) -> None:
    await kill_job(store, "mail")
    await store.run(operations.enqueue(new_job("echo", queue="reports")))
    redis_client.delete(system_key("office:stats"))  # the server under test holds it
    assert await store.run(statistics.add_up(holder="here"))

    every, mail = await asked(client, admin), await asked(client, admin, queue="mail")

    assert (every["queue"], every["step_seconds"], mail["queue"]) == (None, 10, "mail")
    assert 89 <= len(every["points"]) <= 92
    assert (total(every, "enqueued"), total(mail, "enqueued"), total(mail, "dead")) == (2, 1, 1)
    times = [point["at"] for point in every["points"]]
    assert times == sorted(times)
    assert set(every["points"][0]) == {"at", *statistics.SERIES}


@pytest.mark.parametrize(("hours", "step", "points"), [(1, 10, 361), (24, 300, 289), (150, 3600, 151)])
async def test_longer_spans_have_coarser_steps_unless_one_is_asked_for(
    hours: int, step: int, points: int, client: Client, admin: dict[str, str]
) -> None:
    params: dict[str, Any] = {"from": ago(hours=hours), "step": step}
    series = await asked(client, admin, **params)

    assert series["step_seconds"] == step
    assert abs(len(series["points"]) - points) <= 2
    coarser = (await asked(client, admin, **{"from": ago(hours=hours)}))["step_seconds"]
    assert coarser >= step


async def test_a_span_in_the_past_ends_there(client: Client, admin: dict[str, str], store: Store) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))

    past = await asked(client, admin, queue="mail", **{"from": ago(minutes=30), "to": ago(minutes=20)})
    now = await asked(client, admin, queue="mail", **{"from": ago(minutes=5), "to": ago(minutes=-5)})

    assert (total(past, "enqueued"), total(now, "enqueued")) == (0, 1)
    assert 60 <= len(past["points"]) <= 62
    assert all(point["at"] < ago(minutes=20) for point in past["points"])


async def test_nothing_is_kept_beyond_eight_days(client: Client, admin: dict[str, str]) -> None:
    series = await asked(client, admin, **{"from": "2001-01-01T00:00:00Z"})
    assert len(series["points"]) <= 194

    gone = await asked(client, admin, **{"from": "2001-01-01T00:00:00Z", "to": "2001-02-01T00:00:00Z"})
    assert gone["points"] == []


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"from": "yesterday"}, "from"),
        ({"to": "x"}, "to"),
        ({"step": "60"}, "step"),
        ({"step": "ten"}, "step"),
        ({"from": "2031-01-01T00:00:00Z"}, "from"),
        ({"from": "2020-01-02T00:00:00Z", "to": "2020-01-01T00:00:00Z"}, "from"),
        ({"queue": "no where"}, "queue"),
    ],
)
async def test_a_span_that_is_none_is_refused(
    params: dict[str, str], field: str, client: Client, admin: dict[str, str]
) -> None:
    answer = await client.get(THROUGHPUT, params=params, headers=admin)

    assert answer.status_code == 400, answer.text
    assert [problem["field"] for problem in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1970-01-01T00:00:00"])
async def test_extreme_instants_are_instants(at: str, client: Client, admin: dict[str, str]) -> None:
    for params in ({"from": at}, {"to": at}):
        assert (await client.get(THROUGHPUT, params=params, headers=admin)).status_code in (200, 400)
    for path in ("/api/jobs", "/api/dlq"):
        for name in ("finished_since", "finished_until"):
            assert (await client.get(path, params={name: at}, headers=admin)).status_code == 200


async def test_types_are_told_apart_with_their_durations(client: Client, admin: dict[str, str], store: Store) -> None:
    for queue in ("mail", "reports"):
        claimed = await claim_job(store, queue)
        await settle(store, claimed, Outcome.COMPLETE, job_type="echo")
    await kill_job(store, "mail")

    every = await asked(client, admin, "/api/metrics/types", seconds=60)
    mail = await asked(client, admin, "/api/metrics/types", seconds=60, queue="mail")

    [echo] = [shape for shape in every["items"] if shape["type"] == "echo"]
    assert echo["completed"] == 2
    assert [shape["completed"] for shape in mail["items"] if shape["type"] == "echo"] == [1]
    assert set(echo["wait_ms"]) == {"p50", "p95", "p99"}
    assert every["total"] == len(every["items"])


@pytest.mark.parametrize("query", ["seconds=0", "seconds=86401", "seconds=x", "queue=no%20where", "limit=0"])
async def test_types_of_no_span_are_refused(query: str, client: Client, admin: dict[str, str]) -> None:
    answer = await client.get(f"/api/metrics/types?{query}", headers=admin)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == query.partition("=")[0]


async def test_charts_of_a_queue_nobody_used_are_not_found(client: Client, bearer: Bearer) -> None:
    for path in (THROUGHPUT, "/api/metrics/types"):
        assert (await client.get(f"{path}?queue=nowhere", headers=bearer(Role.VIEWER))).status_code == 404
        assert (await client.get(path, headers=bearer(Role.PRODUCER))).status_code == 403
        assert (await client.get(path)).status_code == 401
