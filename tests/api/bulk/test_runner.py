"""The runner of bulk operations: pace, failures, takeover, and what the audit trail hears of a run's end."""

from typing import Any

from leaseforge.store import Store
from leaseforge_api.bulk_runner import BulkRunner
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.entries import Result, Step
from leaseforge_auth.audit.trail import AuditTrail
from tests.api.bulk.support import Clock, ask, audited, fail_one, kill_many, replays, shown, step
from tests.api.conftest import SECRET, Client


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


async def test_a_run_goes_at_the_pace_it_was_given(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, clock: Clock
) -> None:
    await kill_many(store, 40)
    made = await ask(client, operator, "retry", rate_per_second=1000)
    await runner.turn()
    answer = await client.post(f"/api/bulk/{made['id']}/run", json={"rate_per_second": 10}, headers=operator)

    began = clock.now
    while clock.now < began + 2:
        clock.now += max(await runner.turn(), 0.01)

    assert answer.json()["rate_per_second"] == 10
    assert 15 <= (await shown(client, operator, made))["counts"]["done"] <= 25


async def test_what_nobody_runs_within_an_hour_is_dropped(
    client: Client, store: Store, operator: dict[str, str], runner: BulkRunner, clock: Clock
) -> None:
    ids = await kill_many(store, 2)
    made = await ask(client, operator, "retry")
    await runner.turn()
    clock.now += 3500
    await runner.turn()
    assert (await shown(client, operator, made))["state"] == "ready"

    clock.now += 200
    await runner.turn()
    await runner.turn()

    dropped = await shown(client, operator, made)
    assert (dropped["state"], dropped["error"]) == ("aborted", "nobody ran it within an hour")
    assert await replays(store, ids) == [0, 0]


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
