"""Bulk operations over HTTP and the runner that carries them out, on a clock of the tests' own where pace matters."""

from collections.abc import Mapping
from typing import Any

import pytest

from leaseforge import bulk, operations, reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_api.bulk_runner import BulkRunner
from leaseforge_auth.audit.calls import read_on
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.entries import Entry, Result, Step, decode
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.roles import Role
from tests.api.conftest import SECRET, Bearer, Client
from tests.api.support import claim_job, kill_job, settle
from tests.support import eventually

NOWHERE = "0" * 32


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def runner(store: Store, clock: Clock) -> BulkRunner:
    return BulkRunner(store, AuditTrail(store, Chain([SECRET]), keep=1000), clock=clock)


@pytest.fixture
async def client(app: Any, bearer: Bearer) -> Any:
    """The application without its own runner: the tests let one work step by step."""
    from tests.api.conftest import browse

    async with browse(app) as connected:
        yield connected


@pytest.fixture
def operator(bearer: Bearer) -> dict[str, str]:
    return bearer(Role.OPERATOR)


async def ask(client: Client, headers: Mapping[str, str], action: str, *, status: int = 202, **more: Any) -> Any:
    """Asks for an operation; the answer's JSON."""
    wanted = more.pop("filter", {"queue": "default"})
    answer = await client.post("/api/bulk", json={"action": action, "filter": wanted, **more}, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


async def step(client: Client, headers: Mapping[str, str], made: Any, verb: str, *, status: int = 200) -> Any:
    answer = await client.post(f"/api/bulk/{made['id']}/{verb}", json={"reason": "told so"}, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


async def shown(client: Client, headers: Mapping[str, str], made: Any) -> Any:
    answer = await client.get(f"/api/bulk/{made['id']}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def replays(store: Store, ids: list[str]) -> list[int]:
    return [(await store.run(reads.job(job_id))).replays for job_id in ids]


async def kill_many(store: Store, count: int) -> list[str]:
    return [await kill_job(store) for _ in range(count)]


async def audited(store: Store) -> list[Entry]:
    return [decode(stored.body) for stored in (await store.run(read_on(0))).entries]


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


async def test_the_audit_trail_has_each_step_and_how_a_run_ended(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner
) -> None:
    await kill_many(store, 2)
    made = await ask(client, operator, "retry", reason="back again")
    await runner.turn()
    await step(client, operator, made, "run")
    for _ in range(4):
        await runner.turn()

    entries = await audited(store)

    assert [(entry.action, entry.step) for entry in entries] == [
        ("bulk.create", Step.INTENT),
        ("bulk.create", Step.OUTCOME),
        ("bulk.run", Step.INTENT),
        ("bulk.run", Step.OUTCOME),
        ("bulk.run", Step.OUTCOME),
    ]
    assert entries[0].reason == "back again"
    assert entries[1].detail == {"operation": made["id"], "action": "retry", "filter": {"queue": "default"}}
    assert entries[3].detail["total"] == 2
    end = entries[4]
    assert (end.user, end.target, end.reason, end.result) == ("operator", made["id"], "told so", Result.OK)
    assert (end.detail["state"], end.detail["done"], end.detail["total"]) == ("done", 2, 2)


async def test_an_aborted_run_is_told_with_what_it_had_done(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, redis_client: Any
) -> None:
    ids = await kill_many(store, 10)
    made = await ask(client, operator, "retry", rate_per_second=20)
    await runner.turn()
    await step(client, operator, made, "run")
    await runner.turn()

    aborted = await step(client, operator, made, "abort")
    done = sum(await replays(store, ids))
    for _ in range(3):
        await runner.turn()

    assert 0 < done < 10
    assert (aborted["state"], aborted["counts"]["done"], aborted["counts"]["left"]) == ("aborted", done, 10 - done)
    assert await shown(client, operator, made) == aborted
    assert (await audited(store))[-1].detail["done"] == done
    assert sum(await replays(store, ids)) == done
    assert redis_client.keys("lf:{default}:bulk*") == []
    assert redis_client.zcard("lf:{sys}:bulk-alive") == 0


async def test_pace_is_kept_and_a_pause_holds(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, clock: Clock
) -> None:
    ids = await kill_many(store, 40)
    made = await ask(client, operator, "retry", rate_per_second=20)
    await runner.turn()
    await step(client, operator, made, "run")
    began = clock.now
    for _ in range(200):
        wait_s = await runner.turn()
        done = sum(await replays(store, ids))
        assert done <= 20 * (clock.now - began) + 3
        if done >= 20:
            break
        clock.now += max(wait_s, 0.01)
    assert clock.now - began <= 1.5

    paused = await step(client, operator, made, "pause")
    clock.now += 100
    await runner.turn()
    assert sum(await replays(store, ids)) == paused["counts"]["done"] == done
    assert (await step(client, operator, made, "run"))["runs"] == 2
    for _ in range(200):
        clock.now += max(await runner.turn(), 0.01)

    assert (await shown(client, operator, made))["state"] == "done"
    assert await replays(store, ids) == [1] * 40


async def test_too_many_failures_stop_it_and_it_can_be_run_on(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, clock: Clock
) -> None:
    ids = await kill_many(store, 60)
    made = await ask(client, operator, "retry", rate_per_second=20, stop_at_failure_rate=0.5)
    await runner.turn()
    await step(client, operator, made, "run")
    for _ in range(300):
        clock.now += max(await runner.turn(), 0.01)
        while await fail_one(store):
            pass
        if (await shown(client, operator, made))["state"] == "stopped":
            break

    stopped = await shown(client, operator, made)
    assert stopped["state"] == "stopped"
    assert stopped["error"] == "100% of the jobs it let run once more failed again"
    assert stopped["outcomes"]["failed_again"] >= 20
    assert 20 <= stopped["counts"]["done"] < 60
    await runner.turn()
    assert (await audited(store))[-1].detail["state"] == "stopped"
    assert sum(await replays(store, ids)) == stopped["counts"]["done"]

    await step(client, operator, made, "run")
    for _ in range(300):
        clock.now += max(await runner.turn(), 0.01)
    assert (await shown(client, operator, made))["state"] == "done"
    assert await replays(store, ids) == [1] * 60


async def fail_one(store: Store) -> bool:
    """Lets the first ready job fail for good; False if there is none."""
    from leaseforge import exchanges
    from tests.api.support import NUMBERS, RUN_ID

    exchanged = await store.run(
        exchanges.exchange("default", run_id=RUN_ID, number=next(NUMBERS), lease_ms=60_000, want=1)
    )
    for claimed in exchanged.claimed:
        await settle(store, claimed, Outcome.FAIL, error_kind="Again", max_attempts=1)
    return bool(exchanged.claimed)


async def test_two_runners_take_turns_by_the_office(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, redis_client: Any
) -> None:
    ids = await kill_many(store, 30)
    made = await ask(client, operator, "retry", rate_per_second=100)
    other = BulkRunner(store, AuditTrail(store, Chain([SECRET]), keep=1000))
    await runner.turn()
    assert await other.turn() == 1.0
    await step(client, operator, made, "run")
    await runner.turn()
    before = sum(await replays(store, ids))
    assert 0 < before < 30

    redis_client.hset("lf:{sys}:office:bulk", "till", 0)  # the first one has died
    while (await shown(client, operator, made))["state"] != "done":
        await other.turn()

    assert await replays(store, ids) == [1] * 30
    assert (await shown(client, operator, made))["counts"]["done"] == 30


async def test_a_foreign_key_in_the_queue_ends_the_operation_and_says_so(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, redis_client: Any
) -> None:
    await kill_many(store, 2)
    made = await ask(client, operator, "retry")
    await runner.turn()
    await step(client, operator, made, "run")
    redis_client.set("lf:{default}:scheduled", "foreign")

    await runner.turn()

    failed = await shown(client, operator, made)
    assert failed["state"] == "failed"
    assert "WRONGTYPE" in failed["error"]
    redis_client.delete("lf:{default}:scheduled")
    for _ in range(2):
        await runner.turn()
    assert (await audited(store))[-1].result is Result.FAILED


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


async def test_the_twenty_first_is_refused(client: Client, store: Store, operator: dict[str, str]) -> None:
    await kill_job(store)
    for _ in range(20):
        await ask(client, operator, "retry")

    problem = await ask(client, operator, "retry", status=409)

    assert problem["type"] == "urn:leaseforge:problem:too-many-operations"


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
        "tag": "red",
        "created_since": "2026-01-01T00:00:00.000Z",
        "finished_until": "2036-01-01T00:00:00.000Z",
    }

    assert (await ask(client, operator, "retry", filter=wanted))["filter"] == wanted


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
