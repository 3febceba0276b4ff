"""Which jobs a bulk operation writes down: what matched and was there when it was asked for, each once."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from leaseforge import bulk_work, operations
from leaseforge.bulk_records import STATES, BulkAction, BulkGroup, BulkOrder
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.records import instant
from tests.support.bulk_steps import Runner, order
from tests.support.live_queue import LiveQueue, replies_lost

ACTION_OF = {
    JobState.SCHEDULED: BulkAction.CANCEL,
    JobState.READY: BulkAction.CANCEL,
    JobState.RUNNING: BulkAction.CANCEL,
    JobState.RETRYING: BulkAction.PROMOTE,
    JobState.COMPLETED: BulkAction.REQUEUE,
    JobState.CANCELLED: BulkAction.REQUEUE,
    JobState.DEAD: BulkAction.RETRY,
}


@pytest.fixture
def runner(line: LiveQueue) -> Runner:
    return Runner(line)


@pytest.fixture
def other(line: LiveQueue) -> Iterator[LiveQueue]:
    with LiveQueue(line.url, "other") as queue:
        yield queue
        queue.audit()


def bring(line: LiveQueue, state: JobState, count: int = 1, **fields: Any) -> list[str]:
    """Jobs in a state; others of the line must not be ready."""
    if state is JobState.SCHEDULED:
        return line.add_many(count, delay_ms=600_000, **fields)
    ids = line.add_many(count, **fields)
    if state is JobState.READY:
        return ids
    ended: dict[JobState, tuple[Outcome, dict[str, Any]]] = {
        JobState.COMPLETED: (Outcome.COMPLETE, {}),
        JobState.CANCELLED: (Outcome.CANCELLED, {}),
        JobState.DEAD: (Outcome.FAIL, {"error_kind": "Broken", "permanent": "told_so"}),
        JobState.RETRYING: (Outcome.FAIL, {"error_kind": "Broken", "delay_ms": 600_000}),
    }
    left = count
    while left:
        claimed = line.claim(min(left, 200))
        left -= len(claimed)
        if state in ended:
            outcome, details = ended[state]
            for job in claimed:
                line.settle(job, outcome, **details)
    return ids


@pytest.mark.parametrize("state", list(JobState))
def test_what_comes_into_a_state_after_the_moment_is_not_written_down(
    line: LiveQueue, runner: Runner, state: JobState
) -> None:
    before = bring(line, state, 3)

    made = runner.create(ACTION_OF[state], queue=line.name, state=state)
    if state is JobState.READY:
        line.add_many(2)
    else:
        bring(line, state, 2)
    ready = runner.collect(made)

    assert sorted(runner.chosen(made)) == sorted(before)
    assert (ready.state, ready.counts.total) == ("ready", 3)
    assert {job.id for job in ready.sample} == set(before)


@pytest.mark.parametrize("action", list(BulkAction))
def test_an_action_takes_the_states_it_can_do_something_to(line: LiveQueue, runner: Runner, action: BulkAction) -> None:
    by_state: dict[JobState, str] = {state: bring(line, state)[0] for state in JobState if state is not JobState.READY}
    by_state[JobState.READY] = bring(line, JobState.READY)[0]

    made = runner.create(action, queue=line.name)
    runner.collect(made)

    assert sorted(runner.chosen(made)) == sorted(by_state[state] for state in STATES[action])


def test_a_walk_goes_on_behind_its_place_although_jobs_leave_meanwhile(line: LiveQueue, runner: Runner) -> None:
    ids = bring(line, JobState.DEAD, 350)
    line.age("dead", ids, by_ms=60_000)  # all at one instant: only the id orders them
    made = runner.create("retry", queue=line.name)

    runner.step(made)
    seen = runner.chosen(made)
    for job_id in [*seen[50:], *sorted(set(ids) - set(seen))[:30]]:
        line.run(operations.delete(job_id))
    bring(line, JobState.DEAD, 5)
    runner.collect(made)

    chosen = runner.chosen(made)
    assert len(chosen) == len(set(chosen))
    assert set(chosen) == set(seen) | set(sorted(set(ids) - set(seen))[30:])


def test_running_jobs_whose_leases_are_renewed_meanwhile_are_written_down_once(line: LiveQueue, runner: Runner) -> None:
    ids = line.add_many(250)
    claimed = [job for _ in range(2) for job in line.claim(125)]
    made = runner.create("cancel", queue=line.name, state=JobState.RUNNING)

    runner.step(made)
    line.renew(*claimed[:100], lease_ms=600_000)
    runner.step(made)
    line.renew(*claimed[100:200], lease_ms=700_000)
    ready = runner.collect(made)

    assert ready.counts.total == 250
    assert sorted(runner.chosen(made)) == sorted(ids)


def test_groups_of_several_queues_are_one_operation(line: LiveQueue, other: LiveQueue, runner: Runner) -> None:
    chosen: list[tuple[LiveQueue, str]] = []
    for queue, job_type, taken in ((line, "a", True), (line, "b", True), (line, "c", False), (other, "a", False)):
        job_id = queue.add(job_type)
        queue.kill(job_id, job_type=job_type)
        chosen += [(queue, job_id)] if taken else []
    wanted_there = other.add("d")
    other.kill(wanted_there, job_type="d")
    chosen.append((other, wanted_there))

    groups = tuple(BulkGroup(queue.name, queue.field(job_id, "fp") or "") for queue, job_id in chosen)
    made = runner.create("retry", groups=(*groups, BulkGroup(line.name, "no such group")))
    ready = runner.collect(made)

    assert ready.counts.total == 3
    assert {(job.queue, job.id) for job in ready.sample} == {(queue.name, job_id) for queue, job_id in chosen}
    assert sorted(ready.queues) == sorted([line.name, other.name])


def test_orders_about_other_groups_do_not_meet() -> None:
    def of(*groups: BulkGroup, **more: Any) -> BulkOrder:
        return order("retry", {"groups": groups or None, **more})

    one, two, there = BulkGroup("mail", "a"), BulkGroup("mail", "b"), BulkGroup("shop", "a")

    assert of(one, two).may_meet(of(two, there))
    assert of(one).may_meet(of(queue="mail"))
    assert of(one).may_meet(of(group="a"))
    assert not of(one).may_meet(of(two))
    assert not of(one).may_meet(of(there))
    assert not of(one).may_meet(of(queue="shop"))
    assert not of(one, there).may_meet(of(group="b"))


def test_filters_hold_together(line: LiveQueue, runner: Runner) -> None:
    wanted = bring(line, JobState.DEAD, 2, tags=("red", 'odd","tag'))
    bring(line, JobState.DEAD, 1, tags=("blue",))
    bring(line, JobState.DEAD, 1)
    other = line.add("other", tags=("red",))
    line.kill(other, job_type="other")

    def found(**filters: Any) -> list[str]:
        made = runner.create("retry", queue=line.name, **filters)
        runner.collect(made)
        return sorted(runner.chosen(made))

    assert found(tag="red", type="work") == sorted(wanted)
    assert found(tag="red") == sorted([*wanted, other])
    assert found(tag='odd","tag') == sorted(wanted)
    assert found(tag="odd") == []
    assert found(type="other") == [other]
    assert found(group=line.field(other, "fp")) == [other]
    assert found(group="no such group") == []
    line.run(operations.retry(other, operation="a" * 32))
    line.kill(other, job_type="other")
    assert found(operation="a" * 32) == [other]
    assert found(operation="a" * 31) == []
    assert found(ids=(other, wanted[0], "00000000-0000-4000-8000-000000000000")) == sorted([other, wanted[0]])
    assert found(ids=(other,), type="work") == []
    assert found(error="no such words") == []
    died_at = instant(line.field(other, "finished_at"))
    assert died_at is not None
    line.raw.hset(line.record_key(other), "finished_at", line.now_ms() - 3_600_000)
    assert found(finished_until=died_at - timedelta(minutes=30)) == [other]
    assert other not in found(finished_since=died_at - timedelta(minutes=30))
    assert len(found(created_until=died_at + timedelta(minutes=1))) == 5
    assert found(created_since=died_at + timedelta(minutes=1)) == []


def test_words_of_the_error_are_looked_for_as_a_search_does(line: LiveQueue, runner: Runner) -> None:
    long, short = line.add(), line.add()
    line.kill(long, error_kind="Timeout", error_message="x" * 100 + " Pay.Example is away")
    line.kill(short, error_kind="ValueError", error_message="bad address")

    def found(words: str, **filters: Any) -> list[str]:
        made = runner.create("retry", queue=line.name, error=words, **filters)
        runner.collect(made)
        return runner.chosen(made)

    assert found("pay.EXAMPLE is") == [long]
    assert found("valueerror: BAD") == [short]
    assert found("%a") == []
    assert found("bad address", ids=(long, short)) == [short]


def test_some_states_leave_the_others_alone(line: LiveQueue, runner: Runner) -> None:
    waiting = [bring(line, state)[0] for state in (JobState.SCHEDULED, JobState.RETRYING)]
    bring(line, JobState.READY)
    bring(line, JobState.RUNNING)

    made = runner.create("cancel", queue=line.name, states=(JobState.SCHEDULED, JobState.RETRYING))
    runner.collect(made)

    assert sorted(runner.chosen(made)) == sorted(waiting)


def test_named_jobs_are_each_written_down_once_and_only_as_they_are_now(line: LiveQueue, runner: Runner) -> None:
    """A selection by hand: at most a thousand ids, of which some moved on between the look and the click."""
    dead = bring(line, JobState.DEAD, 150)
    gone, moved = dead[0], dead[1]
    line.run(operations.delete(gone))
    line.run(operations.retry(moved, operation="by hand"))

    made = runner.create("retry", ids=(*dead, *dead))
    assert runner.step(made) == "ok"
    ready = runner.collect(made)

    assert sorted(runner.chosen(made)) == sorted(dead[2:])
    assert (ready.counts.total, ready.counts.searched) == (148, 150)


def test_jobs_of_all_queues_are_found(line: LiveQueue, runner: Runner) -> None:
    with LiveQueue(line.url, "second") as second:
        [here], [there] = bring(line, JobState.DEAD), bring(second, JobState.DEAD)
        bring(LiveQueue(line.url, "third"), JobState.COMPLETED)

        ready = runner.collect(runner.create("retry", state=JobState.DEAD))

    assert sorted(ready.queues) == sorted([line.name, "second"])
    assert {(job.id, job.queue) for job in ready.sample} == {(here, line.name), (there, "second")}
    assert not line.raw.exists(f"lf:{{third}}:bulk:{ready.id}")


def test_no_more_than_the_bound_is_written_down_and_that_is_said(line: LiveQueue, runner: Runner) -> None:
    bring(line, JobState.DEAD, 130)

    ready = runner.collect(runner.create("retry", queue=line.name), most=120)

    assert (ready.counts.total, ready.is_cut) == (120, True)
    assert not runner.collect(runner.create("retry", queue=line.name)).is_cut


def test_a_lost_reply_makes_no_step_twice(line: LiveQueue, runner: Runner) -> None:
    ids = bring(line, JobState.DEAD, 150)
    made = runner.create("retry", queue=line.name)
    work = runner.work(made)

    for _ in range(2):
        assert line.run(replies_lost(bulk_work.collect(work, term=runner.term, most=1000))) == "already_done"

    assert runner.step(made) == bulk_work.OVER
    assert sorted(runner.chosen(made)) == sorted(ids)
    assert work.counts().total == 150


def test_another_process_goes_on_where_one_ended_and_the_old_one_is_refused(line: LiveQueue, runner: Runner) -> None:
    ids = bring(line, JobState.DEAD, 250)
    made = runner.create("retry", queue=line.name)
    runner.step(made)

    second = Runner(line, "two")
    assert second.term > runner.term
    second.step(made)

    assert runner.step(made) == "fenced"
    ready = second.collect(made)
    assert ready.counts.total == 250
    assert sorted(second.chosen(made)) == sorted(ids)


def test_collecting_changes_no_job(line: LiveQueue, runner: Runner) -> None:
    bring(line, JobState.DEAD, 20)
    bring(line, JobState.COMPLETED, 20)
    made = runner.create("delete", queue=line.name)

    with line.unchanged():
        runner.collect(made)
        line.run(bulk_work.drop(runner.work(made)))
