"""Bulk operations over HTTP: asked for, looked at, run, paused, aborted, and refused."""

from typing import Any

import pytest

from leaseforge import bulk, operations, reads
from leaseforge.bulk_records import BulkAction, BulkFilter, BulkOrder
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_api.bulk_runner import BulkRunner
from leaseforge_auth.roles import Role
from tests.api.bulk.support import ask, kill_many, replays, shown, step
from tests.api.conftest import Bearer, Client
from tests.api.support import claim_job, kill_job
from tests.support import eventually

NOWHERE = "0" * 32


async def test_from_asking_to_done(client: Client, store: Store, operator: dict[str, str], runner: BulkRunner) -> None:
    ids = await kill_many(store, 3)

    made = await ask(client, operator, "retry", reason="the mail server is back")
    assert made["state"] == "collecting"
    assert (made["created_by"], made["reason"]) == ("operator", "the mail server is back")
    await runner.turn()
    ready = await shown(client, operator, made)
    assert ready["state"] == "ready"
    assert ready["counts"] == {
        "total": 3,
        "done": 0,
        "skipped": {"changed": 0, "gone": 0},
        "failed": {},
        "left": 3,
    }
    assert sorted(job["id"] for job in ready["sample"]) == sorted(ids)
    assert ready["sample"][0] | {"id": ""} == {"id": "", "queue": "default", "type": "echo"}
    assert await replays(store, ids) == [0, 0, 0]

    started = await step(client, operator, made, "run")
    assert (started["state"], started["run_by"], started["run_reason"]) == ("running", "operator", "told so")
    await runner.turn()
    await runner.turn()
    done = await shown(client, operator, made)

    assert (done["state"], done["counts"]["done"], done["counts"]["left"]) == ("done", 3, 0)
    assert done["created_at"] <= done["ready_at"] <= done["started_at"] <= done["ended_at"]
    assert await replays(store, ids) == [1, 1, 1]
    listed = (await client.get("/api/bulk", headers=operator)).json()
    assert (listed["total"], listed["items"], listed["next"]) == (1, [done], None)


async def test_what_died_later_is_left_alone(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, redis_client: Any
) -> None:
    ids = await kill_many(store, 2)
    made = await ask(client, operator, "retry")
    frozen_ms = int(redis_client.hget(f"lf:{{sys}}:bulk:{made['id']}", "created_at"))

    def later() -> bool:
        seconds, micros = redis_client.time()
        return bool(seconds * 1000 + micros // 1000 > frozen_ms)

    await eventually(later)
    late = await kill_many(store, 2)
    await runner.turn()
    await step(client, operator, made, "run")
    await runner.turn()

    assert await replays(store, [*ids, *late]) == [1, 1, 0, 0]


async def test_what_was_done_to_by_hand_meanwhile_is_passed_over(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner
) -> None:
    kept, changed, gone = await kill_many(store, 3)
    made = await ask(client, operator, "retry")
    await runner.turn()
    await store.run(operations.retry(changed, operation="by hand"))
    await store.run(operations.delete(gone))

    await step(client, operator, made, "run")
    await runner.turn()
    await runner.turn()

    counts = (await shown(client, operator, made))["counts"]
    assert counts == {"total": 3, "done": 1, "skipped": {"changed": 1, "gone": 1}, "failed": {}, "left": 0}
    assert await replays(store, [kept, changed]) == [1, 1]


async def test_the_same_idempotency_key_makes_one_operation(
    client: Client, store: Store, operator: dict[str, str], admin: dict[str, str]
) -> None:
    await kill_job(store)
    key = {"Idempotency-Key": "once"}

    first = await ask(client, operator | key, "retry")
    again = await ask(client, operator | key, "retry")
    another = await ask(client, admin | key, "retry")

    assert first == again
    assert another["id"] != first["id"]


@pytest.mark.parametrize("verb", ["run", "pause", "abort"])
async def test_steps_that_are_not_possible_are_typed(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, verb: str
) -> None:
    await kill_job(store)
    made = await ask(client, operator, "retry")
    await runner.turn()
    await step(client, operator, made, "abort")

    if verb == "abort":
        await step(client, operator, made, verb)  # it is what it is
        return
    problem = await step(client, operator, made, verb, status=409)
    assert problem["type"] == "urn:leaseforge:problem:bulk-not-possible"
    assert problem["detail"] == f"cannot {verb} bulk operation {made['id']}: it is aborted"


async def test_what_is_not_there_is_a_typed_404(client: Client, operator: dict[str, str]) -> None:
    for method, path in (("GET", ""), ("POST", "/run"), ("POST", "/pause"), ("POST", "/abort")):
        answer = await client.request(method, f"/api/bulk/{NOWHERE}{path}", headers=operator)
        assert answer.status_code == 404
        assert answer.json()["type"] == "urn:leaseforge:problem:bulk-not-found"


async def test_an_accounts_sixth_is_refused_and_everybodys_twenty_first(
    client: Client, store: Store, operator: dict[str, str], admin: dict[str, str]
) -> None:
    await kill_job(store)
    own = [(await ask(client, operator, "retry"))["id"] for _ in range(5)]

    problem = await ask(client, operator, "retry", status=409)

    assert problem["type"] == "urn:leaseforge:problem:too-many-own-operations"
    assert all(one in problem["detail"] for one in own)
    for number in range(15):
        filled = BulkOrder(BulkAction.RETRY, BulkFilter("default"), created_by=f"operator-{number}")
        await store.run(bulk.create(f"{number:032x}", filled))
    problem = await ask(client, admin, "retry", status=409)
    assert problem["type"] == "urn:leaseforge:problem:too-many-operations"
    assert own[0] not in problem["detail"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["action", "filter"]),
        ({"action": "explode", "filter": {"queue": "default"}}, ["action"]),
        ({"action": "retry", "filter": {}}, ["filter"]),
        ({"action": "retry", "filter": {"colour": "red"}}, ["filter.colour"]),
        ({"action": "retry", "filter": {"state": "asleep"}}, ["filter.state"]),
        ({"action": "retry", "filter": {"state": "ready"}}, ["filter.state"]),
        ({"action": "retry", "filter": {"ids": ["x"]}}, ["filter.ids[0]"]),
        ({"action": "retry", "filter": {"queue": "a b"}}, ["filter.queue"]),
        ({"action": "retry", "filter": {"states": []}}, ["filter.states"]),
        ({"action": "retry", "filter": {"states": ["ready"]}}, ["filter.states"]),
        ({"action": "retry", "filter": {"ids": ["x"] * 1001}}, ["filter.ids"]),
        ({"action": "retry", "filter": {"created_since": "yesterday"}}, ["filter.created_since"]),
        ({"action": "retry", "filter": {"created_since": "2026-01-01T00:00:00"}}, ["filter.created_since"]),
        ({"action": "retry", "filter": {"queue": "default"}, "rate_per_second": 0}, ["rate_per_second"]),
        ({"action": "retry", "filter": {"queue": "default"}, "rate_per_second": 10_001}, ["rate_per_second"]),
        ({"action": "cancel", "filter": {"queue": "default"}, "stop_at_failure_rate": 0.1}, ["stop_at_failure_rate"]),
        ({"action": "retry", "filter": {"queue": "default"}, "stop_at_failure_rate": 2}, ["stop_at_failure_rate"]),
    ],
)
async def test_bad_requests_are_refused_by_field(
    client: Client, operator: dict[str, str], redis_client: Any, body: dict[str, Any], fields: list[str]
) -> None:
    answer = await client.post("/api/bulk", json=body, headers=operator)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == fields
    assert redis_client.keys("lf:{sys}:bulk*") == []


async def test_an_unknown_queue_is_not_found(client: Client, operator: dict[str, str]) -> None:
    problem = await ask(client, operator, "retry", filter={"queue": "nowhere"}, status=404)

    assert problem["type"] == "urn:leaseforge:problem:queue-not-found"


async def limited(client: Client, admin: dict[str, str], *permissions: str) -> dict[str, str]:
    """Headers of a service token that has these permissions and no other."""
    body = {"name": "-".join(permissions).replace(":", "-"), "kind": "service", "permissions": list(permissions)}
    answer = await client.post("/api/tokens", json=body, headers=admin)
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['token']}"}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.PRODUCER])
async def test_who_may_write_nothing_may_ask_for_nothing(
    client: Client, store: Store, bearer: Bearer, operator: dict[str, str], runner: BulkRunner, role: Role
) -> None:
    await kill_job(store)
    made = await ask(client, operator, "retry")
    await runner.turn()

    await ask(client, bearer(role), "retry", status=403)
    for verb in ("run", "pause", "abort"):
        await step(client, bearer(role), made, verb, status=403)

    answer = await client.get(f"/api/bulk/{made['id']}", headers=bearer(role))
    assert answer.status_code == (200 if role is Role.VIEWER else 403)
    assert (await shown(client, operator, made))["state"] == "ready"


ASKED = [
    ("retry", {"queue": "default"}, {"dlq:write"}),
    ("delete", {"state": "dead"}, {"dlq:write"}),
    ("requeue", {"state": "dead"}, {"dlq:write"}),
    ("requeue", {"state": "completed"}, {"jobs:write"}),
    ("requeue", {"queue": "default"}, {"jobs:write", "dlq:write"}),
    ("cancel", {"queue": "default"}, {"jobs:write"}),
    ("delete", {"queue": "default"}, {"jobs:write", "dlq:write"}),
    ("promote", {"queue": "default"}, {"delayed:write"}),
]


@pytest.mark.parametrize(("action", "wanted", "needed"), ASKED)
async def test_an_action_needs_what_its_single_form_needs(
    client: Client, store: Store, operator: dict[str, str], admin: dict[str, str], action: str, wanted: Any, needed: Any
) -> None:
    await kill_job(store)
    every = {"jobs:write", "dlq:write", "delayed:write"}
    made = await ask(client, operator, action, filter=wanted)
    with_it = await limited(client, admin, *sorted(needed))

    await ask(client, with_it, action, filter=wanted)
    await step(client, with_it, made, "abort")
    for one in sorted(needed):
        rest = sorted(every - {one})
        without = await limited(client, admin, *rest)
        problem = await ask(client, without, action, filter=wanted, status=403)
        assert one in problem["detail"]
        await step(client, without, made, "run", status=403)


async def test_what_a_filter_says_comes_back_as_it_was_asked(
    client: Client, store: Store, operator: dict[str, str]
) -> None:
    await kill_job(store)
    wanted = {
        "queue": "default",
        "state": "dead",
        "type": "echo",
        "states": ["dead", "completed"],
        "tag": "red",
        "error": "no answer",
        "created_since": "2026-01-01T00:00:00.000Z",
        "finished_until": "2036-01-01T00:00:00.000Z",
    }

    assert (await ask(client, operator, "retry", filter=wanted))["filter"] == wanted


async def test_a_selection_by_id_is_frozen_and_acted_on_once(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner
) -> None:
    ids = await kill_many(store, 4)
    made = await ask(client, operator, "delete", filter={"ids": ids[:3]})
    await runner.turn()
    await store.run(operations.retry(ids[0], operation="by hand"))

    await step(client, operator, made, "run")
    await runner.turn()

    done = await shown(client, operator, made)
    assert (done["counts"]["total"], done["counts"]["done"], done["counts"]["skipped"]["changed"]) == (3, 2, 1)
    left = [(await store.run(reads.job(job_id))).state for job_id in (ids[0], ids[3])]
    assert left == [JobState.READY, JobState.DEAD]


async def test_a_run_may_change_the_pace(client: Client, store: Store, operator: dict[str, str]) -> None:
    await kill_many(store, 1)
    made = await ask(client, operator, "retry", stop_at_failure_rate=0.2)
    url = f"/api/bulk/{made['id']}/run"

    half = await client.post(url, json={"stop_at_failure_rate": 0.1}, headers=operator)
    wrong = await client.post(url, json={"rate_per_second": 0}, headers=operator)

    assert (half.status_code, wrong.status_code) == (400, 400)
    assert [problem["field"] for problem in half.json()["errors"]] == ["rate_per_second"]


async def test_live_jobs_are_cancelled_and_waiting_ones_promoted(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner
) -> None:
    running = (await claim_job(store)).id
    ready, later = new_job("echo", {}), new_job("echo", {}, delay_ms=600_000)
    await store.run(operations.enqueue_many([ready, later]))
    promoting = await ask(client, operator, "promote")
    await runner.turn()
    await step(client, operator, promoting, "run")
    await runner.turn()
    assert (await store.run(reads.job(later.id))).state is JobState.READY

    cancelling = await ask(client, operator, "cancel")
    await runner.turn()
    await step(client, operator, cancelling, "run")
    await runner.turn()

    states = [(await store.run(reads.job(one))).state for one in (ready.id, later.id, running)]
    assert states == [JobState.CANCELLED, JobState.CANCELLED, JobState.RUNNING]
    assert (await store.run(reads.job(running))).cancel_requested
    assert (await store.run(bulk.show(cancelling["id"]))).counts.done == 3
