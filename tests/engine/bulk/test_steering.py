"""What operators may do with a bulk operation in each state, and what they may ask for."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from leaseforge import bulk, bulk_calls, limits
from leaseforge.answers import Answer
from leaseforge.bulk_records import BulkGroup, BulkOperation, BulkPace, BulkState
from leaseforge.errors import (
    BadInput,
    BulkNotFound,
    BulkNotPossible,
    QueueNotFound,
    TooManyOperations,
    TooManyOwnOperations,
)
from leaseforge.jobs import JobState
from leaseforge.keys import system_key
from tests.support.bulk_steps import Runner, order
from tests.support.live_queue import LiveQueue

ALLOWED = {
    "run": {"ready", "paused", "stopped", "running"},
    "pause": {"running", "paused"},
    "abort": {"collecting", "ready", "running", "paused", "stopped", "aborted"},
    "discard": {"collecting", "ready", "aborted"},
}
BECOMES = {"run": "running", "pause": "paused", "abort": "aborted", "discard": "aborted"}


@pytest.fixture
def runner(line: LiveQueue) -> Runner:
    line.add()
    return Runner(line)


def in_state(line: LiveQueue, runner: Runner, state: BulkState) -> BulkOperation:
    made = runner.create("cancel", queue=line.name)
    if state is not BulkState.COLLECTING:
        line.raw.hset(system_key(f"bulk:{made.id}"), "state", state)
    return made


@pytest.mark.parametrize("state", list(BulkState))
@pytest.mark.parametrize("verb", sorted(ALLOWED))
def test_each_step_is_possible_in_its_states_only(line: LiveQueue, runner: Runner, verb: str, state: BulkState) -> None:
    made = in_state(line, runner, state)
    step = getattr(bulk, verb)

    if state in ALLOWED[verb]:
        assert line.run(step(made.id, user="bob", reason="why")).state == BECOMES[verb]
        assert line.run(step(made.id, user="bob")).state == BECOMES[verb]  # a repeat is fine
    else:
        with pytest.raises(BulkNotPossible) as refused:
            line.run(step(made.id, user="bob"))
        assert (refused.value.state, refused.value.verb) == (state, verb)
        assert line.run(bulk.show(made.id)).state == state


@pytest.mark.parametrize("operation_id", ["", "x" * 65, "no-such", "0" * 32, "*", "é"])
def test_what_is_not_there_is_not_found(line: LiveQueue, operation_id: str) -> None:
    for plan in (
        bulk.show(operation_id),
        *(getattr(bulk, verb)(operation_id, user="ada") for verb in ALLOWED),
    ):
        with pytest.raises(BulkNotFound):
            line.run(plan)


def test_a_run_takes_the_pace_it_is_given_and_a_repeat_changes_nothing(line: LiveQueue, runner: Runner) -> None:
    made = in_state(line, runner, BulkState.READY)
    line.raw.hset(system_key(f"bulk:{made.id}"), mapping={"action": "retry", "done": 5, "failed": '{"fault": 2}'})

    running = line.run(bulk.run(made.id, user="bob", pace=BulkPace(7, 0.25)))
    again = line.run(bulk.run(made.id, user="eve", pace=BulkPace(9)))

    assert (running.order.rate_per_second, running.order.stop_at_failure_rate) == (7, 0.25)
    assert (running.run_from, running.run_at) == (7, running.started_at)
    assert again == running
    line.run(bulk.pause(made.id, user="bob"))
    assert line.run(bulk.run(made.id, user="bob", pace=BulkPace(9))).order.stop_at_failure_rate is None
    with pytest.raises(BadInput):
        line.run(bulk.run(made.id, user="bob", pace=BulkPace(0)))


def test_operations_are_listed_by_state(line: LiveQueue, runner: Runner) -> None:
    made = {state: in_state(line, runner, state).id for state in BulkState}

    page = line.run(bulk.operations([BulkState.PAUSED, BulkState.DONE], limit=1))
    rest = line.run(bulk.operations([BulkState.PAUSED, BulkState.DONE], offset=1, limit=5))

    assert page.total == rest.total == 2
    assert {one.id for one in (*page.items, *rest.items)} == {made[BulkState.PAUSED], made[BulkState.DONE]}
    assert line.run(bulk.operations()).total == len(BulkState)


def test_the_runner_overrules_no_operator(line: LiveQueue, runner: Runner) -> None:
    made = in_state(line, runner, BulkState.RUNNING)
    line.run(bulk.pause(made.id, user="bob"))

    call = bulk_calls.note(made.id, {"done": "7"}, term=runner.term, before="running", after="done")

    assert line.run(call) == (Answer.CONFLICT, "paused")
    assert line.run(bulk.show(made.id)).counts.done == 7
    assert line.run(bulk.show(made.id)).state == "paused"


def test_a_runner_that_does_not_lead_any_more_says_nothing(line: LiveQueue, runner: Runner) -> None:
    made = in_state(line, runner, BulkState.RUNNING)
    Runner(line, "two")

    call = bulk_calls.note(made.id, {"done": "7"}, term=runner.term, before="running", after="done")

    assert line.run(call) == (Answer.FENCED, "running")
    assert line.run(bulk.show(made.id)).counts.done == 0


def test_only_so_many_may_be_alive(line: LiveQueue, runner: Runner) -> None:
    made = [runner.create("cancel", queue=line.name) for _ in range(limits.MAX_OPERATIONS_ALIVE)]

    with line.unchanged(), pytest.raises(TooManyOperations, match=r"one must be run or aborted first$"):
        runner.create("cancel", queue=line.name)
    asked_by_one_of_them = order("cancel", {"queue": line.name}, created_by=made[3].order.created_by)
    with pytest.raises(TooManyOperations, match=made[3].id) as refused:
        line.run(bulk.create(uuid4().hex, asked_by_one_of_them))
    assert refused.value.own == (made[3].id,)
    # The same request again is no further one.
    again = line.run(bulk.create(made[0].id, order("cancel", {"queue": line.name})))
    assert again == made[0]

    line.run(bulk.abort(made[0].id, user="ada"))
    runner.create("cancel", queue=line.name)
    line.raw.delete(system_key(f"bulk:{made[1].id}"))  # its time is over
    runner.create("cancel", queue=line.name)

    page = line.run(bulk.operations(limit=5))
    assert len(page.items) == 5
    assert page.items[0].created_at >= page.items[4].created_at  # type: ignore[operator]  # all have one


def test_one_account_fills_no_more_than_its_share_and_hears_what_stands_there(line: LiveQueue, runner: Runner) -> None:
    asked = order("cancel", {"queue": line.name})
    made = [line.run(bulk.create(uuid4().hex, asked)).id for _ in range(limits.MAX_OPERATIONS_OF_ONE)]

    with line.unchanged(), pytest.raises(TooManyOwnOperations) as refused:
        line.run(bulk.create(uuid4().hex, asked))

    assert sorted(refused.value.own) == sorted(made)
    assert all(one in str(refused.value) for one in made)
    runner.create("cancel", queue=line.name)  # others are not kept from acting
    assert line.run(bulk.create(made[0], asked)).id == made[0]  # nor is the same request again
    line.run(bulk.run(runner.collect(line.run(bulk.show(made[1]))).id, user="bob"))
    with pytest.raises(TooManyOwnOperations):
        line.run(bulk.create(uuid4().hex, asked))  # whoever runs it, it is still hers
    line.run(bulk.abort(made[1], user="bob"))
    assert line.run(bulk.create(uuid4().hex, asked)).order == asked


def test_the_oldest_ended_ones_make_room(line: LiveQueue, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_calls, "MAX_OPERATIONS", 3)
    for _ in range(6):
        made = runner.create("cancel", queue=line.name)
        line.run(bulk.abort(made.id, user="ada"))
        line.run(bulk_calls.note(made.id, {}, term=runner.term, before="aborted", after="aborted", is_over=True))

    page = line.run(bulk.operations())

    assert page.total == 3
    assert page.items[0].id == made.id
    assert len(line.raw.keys("lf:{sys}:bulk:*")) == 3


def test_it_is_kept_for_a_week_after_its_last_change(line: LiveQueue, runner: Runner) -> None:
    made = runner.collect(runner.create("cancel", queue=line.name))

    for key in (system_key(f"bulk:{made.id}"), line.key(f"bulk:{made.id}"), line.key(f"bulk:{made.id}:chosen")):
        assert 0 < line.raw.pttl(key) <= limits.KEEP_OPERATION_MS


AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("field", "action", "wanted", "more"),
    [
        ("filter", "retry", {}, {}),
        ("filter.queue", "retry", {"queue": "no/name"}, {}),
        ("filter.queue", "retry", {"queue": "sys"}, {}),
        ("filter.state", "retry", {"state": JobState.READY}, {}),
        ("filter.state", "delete", {"state": JobState.RUNNING}, {}),
        ("filter.group", "promote", {"group": "x"}, {}),
        ("filter.state", "delete", {"group": "x", "state": JobState.READY}, {}),
        ("filter.group", "retry", {"group": ""}, {}),
        ("filter.groups", "retry", {"groups": ()}, {}),
        ("filter.groups", "retry", {"groups": (BulkGroup("line", "x"),) * 101}, {}),
        ("filter.groups[0].queue", "retry", {"groups": (BulkGroup("no/name", "x"),)}, {}),
        ("filter.groups[0].group", "retry", {"groups": (BulkGroup("line", ""),)}, {}),
        ("filter.groups", "retry", {"groups": (BulkGroup("line", "x"),), "queue": "other"}, {}),
        ("filter.groups", "promote", {"groups": (BulkGroup("line", "x"),)}, {}),
        ("filter.operation", "retry", {"operation": "x" * 65}, {}),
        ("filter.type", "retry", {"type": "x" * 129}, {}),
        ("filter.tag", "retry", {"tag": "x" * 65}, {}),
        ("filter.error", "retry", {"error": "x" * 257}, {}),
        ("filter.states", "retry", {"states": ()}, {}),
        ("filter.states", "retry", {"states": (JobState.READY, JobState.RUNNING)}, {}),
        ("filter.ids", "retry", {"ids": ()}, {}),
        ("filter.ids", "retry", {"ids": (str(uuid4()),) * 1001}, {}),
        ("filter.ids[1]", "retry", {"ids": (str(uuid4()), "x")}, {}),
        ("filter.created_since", "retry", {"created_since": datetime(2026, 1, 1)}, {}),  # no zone: that is the point
        ("filter.finished_until", "retry", {"finished_since": AT, "finished_until": AT}, {}),
        ("rate_per_second", "retry", {"queue": "line"}, {"rate_per_second": 0}),
        ("rate_per_second", "retry", {"queue": "line"}, {"rate_per_second": 10_001}),
        ("stop_at_failure_rate", "retry", {"queue": "line"}, {"stop_at_failure_rate": 1.5}),
        ("stop_at_failure_rate", "delete", {"queue": "line"}, {"stop_at_failure_rate": 0.5}),
    ],
)
def test_what_cannot_be_carried_out_is_refused_by_name(
    line: LiveQueue, field: str, action: str, wanted: dict[str, Any], more: dict[str, Any]
) -> None:
    with pytest.raises(BadInput) as refused:
        line.run(bulk.create(uuid4().hex, order(action, wanted, **more)))

    assert [problem.field for problem in refused.value.problems] == [field]
    assert line.raw.keys("*") == []


def test_a_queue_that_never_was_is_not_found(line: LiveQueue) -> None:
    with pytest.raises(QueueNotFound):
        line.run(bulk.create(uuid4().hex, order("retry", {"queue": "nowhere"})))
