"""What a bulk operation does to the jobs written down: each once, and only if it is still what was written down."""

from typing import Any

import pytest

from leaseforge import bulk, bulk_calls, bulk_work, operations
from leaseforge.bulk_records import STATES, BulkAction
from leaseforge.errors import ScriptFault
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from tests.engine.bulk.test_collecting import bring
from tests.support.bulk_steps import Runner
from tests.support.live_queue import LiveQueue, replies_lost

LEADS_TO = {
    BulkAction.RETRY: JobState.READY,
    BulkAction.REQUEUE: JobState.READY,
    BulkAction.CANCEL: JobState.CANCELLED,
    BulkAction.PROMOTE: JobState.READY,
}


@pytest.fixture
def runner(line: LiveQueue) -> Runner:
    return Runner(line)


def replays(line: LiveQueue, ids: list[str]) -> list[int]:
    return [line.job(job_id).replays for job_id in ids]


@pytest.mark.parametrize("action", [action for action in BulkAction if action is not BulkAction.DELETE])
def test_each_action_does_what_its_single_form_does(line: LiveQueue, runner: Runner, action: BulkAction) -> None:
    states = [state for state in STATES[action] if state is not JobState.RUNNING]
    ids = [bring(line, state)[0] for state in sorted(states, key=lambda state: state is JobState.READY)]

    work = runner.do(action, queue=line.name)

    assert [line.state(job_id) for job_id in ids] == [LEADS_TO[action]] * len(ids)
    assert (work.counts().done, work.counts().total) == (len(ids), len(ids))


def test_running_jobs_are_asked_to_stop(line: LiveQueue, runner: Runner) -> None:
    [job_id] = bring(line, JobState.RUNNING)

    assert runner.do("cancel", state=JobState.RUNNING).counts().done == 1

    assert line.job(job_id).cancel_requested


def test_deleted_jobs_are_gone_whatever_state_they_were_in(line: LiveQueue, runner: Runner) -> None:
    for state in sorted(STATES[BulkAction.DELETE], key=lambda state: state is JobState.READY):
        bring(line, state, 3)

    assert runner.do("delete", queue=line.name).counts().done == 18

    assert line.raw.keys("lf:{line}:job:*") == []


def test_jobs_that_changed_or_went_after_they_were_written_down_are_passed_over(
    line: LiveQueue, runner: Runner
) -> None:
    kept, retried, gone, twice = bring(line, JobState.DEAD, 4)
    ready = runner.collect(runner.create("retry", queue=line.name))
    line.run(operations.retry(retried, operation="by hand"))
    line.run(operations.delete(gone))
    line.run(operations.retry(twice, operation="by hand"))
    for job in line.claim(2):
        line.settle(job, Outcome.FAIL, error_kind="Broken", permanent="again")

    work = runner.finish(runner.start(ready))

    counts = work.counts()
    assert (counts.done, counts.changed, counts.gone, counts.failed) == (1, 2, 1, {})
    assert replays(line, [kept, retried, twice]) == [1, 1, 1]
    assert line.state(twice) == "dead"


def test_a_job_enqueued_anew_under_a_deleted_ones_id_is_not_the_one_written_down(
    line: LiveQueue, runner: Runner
) -> None:
    job_id = line.add()
    ready = runner.collect(runner.create("cancel", queue=line.name))
    line.run(operations.delete(job_id))
    line.add(id=job_id)

    assert runner.finish(runner.start(ready)).counts().changed == 1

    assert line.state(job_id) == "ready"


def test_a_job_whose_unique_key_is_taken_fails_alone(line: LiveQueue, runner: Runner) -> None:
    first = line.add(unique_key="only")
    line.kill(first)
    second = line.add(unique_key="only")
    third = line.add()
    [_, claimed] = line.claim(2)
    assert claimed.id == third
    line.settle(claimed, Outcome.FAIL, error_kind="Broken", permanent="told_so")

    counts = runner.do("retry", queue=line.name).counts()

    assert (counts.done, counts.failed) == (1, {"unique_key_taken": 1})
    assert (line.state(first), line.state(third)) == ("dead", "ready")
    line.run(operations.cancel(second, operation="op"))


def test_a_job_without_payload_fails_alone(line: LiveQueue, runner: Runner) -> None:
    broken, whole = bring(line, JobState.DEAD, 2)
    line.raw.delete(line.record_key(broken, ":in"))

    counts = runner.do("retry", queue=line.name).counts()

    assert (counts.done, counts.failed) == (1, {"invalid_transition": 1})
    assert line.state(whole) == "ready"


def test_a_fault_at_one_job_stops_no_other(line: LiveQueue, runner: Runner) -> None:
    broken, whole = bring(line, JobState.DEAD, 2)
    ready = runner.collect(runner.create("delete", queue=line.name))
    group = line.field(broken, "fp")
    line.raw.hset(line.record_key(broken), "fp", "foreign")
    line.raw.set(line.key("dead:group:foreign"), b"no group")

    work = runner.finish(runner.start(ready))

    assert work.counts().failed == {"fault": 1}
    assert work.counts().done == 1
    assert "WRONGTYPE" in work.fault()
    line.raw.delete(line.key("dead:group:foreign"))
    line.raw.hset(line.record_key(broken), "fp", group)
    line.run(operations.delete(broken))
    assert not line.raw.exists(line.record_key(whole))


def test_foreign_keys_among_the_queues_own_are_noticed_before_anything_is_done(line: LiveQueue, runner: Runner) -> None:
    ids = bring(line, JobState.DEAD, 3)
    ready = runner.start(runner.collect(runner.create("retry", queue=line.name)))

    with line.planted("ready", b"foreign"), pytest.raises(ScriptFault):
        runner.act(ready)

    assert runner.finish(ready).counts().done == 3
    assert replays(line, ids) == [1, 1, 1]


def test_a_lost_reply_acts_on_no_job_twice_and_takes_no_second_chunk(line: LiveQueue, runner: Runner) -> None:
    ids = bring(line, JobState.DEAD, 50)
    ready = runner.start(runner.collect(runner.create("retry", queue=line.name)))
    work = runner.work(ready)
    work.operation = ready

    word, taken = line.run(replies_lost(bulk_work.act(work, line.name, term=runner.term, limit=20)))

    assert (word, taken) == ("already_done", 20)
    assert sum(replays(line, ids)) == 20
    runner.finish(ready)
    assert replays(line, ids) == [1] * 50
    assert work.counts().done == 50


def test_another_process_goes_on_where_one_ended_and_the_old_one_is_refused(line: LiveQueue, runner: Runner) -> None:
    ids = bring(line, JobState.DEAD, 50)
    ready = runner.start(runner.collect(runner.create("retry", queue=line.name)))
    runner.act(ready, limit=20)

    second = Runner(line, "two")
    second.act(ready, limit=10)

    assert runner.act(ready, limit=10) == "fenced"
    assert second.finish(ready).counts().done == 50
    assert replays(line, ids) == [1] * 50


def test_of_two_operations_on_the_same_jobs_each_job_is_acted_on_by_one(line: LiveQueue, runner: Runner) -> None:
    ids = bring(line, JobState.DEAD, 60)
    first = runner.collect(runner.create("retry", queue=line.name))
    second = runner.collect(runner.create("requeue", queue=line.name, ids=tuple(ids[20:])))
    runner.start(first), runner.start(second)

    for _ in range(6):
        runner.act(first, limit=10)
        runner.act(second, limit=10)

    done = [runner.work(one).counts() for one in (first, second)]
    assert sum(counts.done for counts in done) == 60
    assert sum(counts.changed for counts in done) == 40
    assert replays(line, ids) == [1] * 60


@pytest.mark.parametrize("verb", ["pause", "abort"])
def test_nothing_is_acted_on_after_a_pause_or_an_abort_has_answered(line: LiveQueue, runner: Runner, verb: str) -> None:
    ids = bring(line, JobState.DEAD, 30)
    ready = runner.start(runner.collect(runner.create("retry", queue=line.name)))
    runner.act(ready, limit=10)
    work = runner.work(ready)

    answered = line.run(getattr(bulk, verb)(ready.id, user="ada"))
    word, taken = line.run(bulk_work.act(work, line.name, term=runner.term, limit=10))

    assert (word, taken) == ("halted", 0)
    assert (answered.counts.done, answered.counts.total) == (10, 30)
    assert sum(replays(line, ids)) == 10
    if verb == "pause":
        runner.start(ready)
        assert runner.finish(ready).counts().done == 30
        assert replays(line, ids) == [1] * 30


def test_replayed_jobs_stand_in_line_in_the_order_they_died(line: LiveQueue, runner: Runner) -> None:
    ids = bring(line, JobState.DEAD, 5)
    for at, job_id in enumerate(reversed(ids)):
        line.age("dead", [job_id], by_ms=10_000 - at)
        line.raw.hset(line.record_key(job_id), "finished_at", int(line.raw.zscore(line.key("dead"), job_id)))

    runner.do("retry", queue=line.name)

    assert line.ready() == ids[::-1]
    assert line.take_wake_token()


def test_a_server_that_takes_over_reads_how_far_it_is_and_not_the_jobs(line: LiveQueue, runner: Runner) -> None:
    bring(line, JobState.DEAD, 6)
    made = runner.create("retry", queue=line.name)
    runner.collect(made)
    line.raw.config_resetstat()

    part, rows = line.run(bulk_calls.read_part(line.name, made.id))

    assert (part.found, rows) == (6, [])
    assert "cmdstat_lrange" not in line.raw.info("commandstats")  # of a million jobs it would take a second
    assert len(line.run(bulk_calls.read_part(line.name, made.id, sample=4))[1]) == 4


def test_outcomes_of_replayed_jobs_are_counted_once(line: LiveQueue, runner: Runner) -> None:
    bring(line, JobState.DEAD, 6)
    made = runner.create("retry", queue=line.name)
    runner.collect(made)
    runner.start(made)
    work = runner.work(made)
    line.run(bulk_calls.act(line.name, made.id, "retry", term=runner.term, run=1, at=0, limit=6, watch=5))
    work.parts[line.name] = line.run(bulk_calls.read_part(line.name, made.id))[0]

    well, dead, failing, stopped, _unwatched, _waits = [*line.claim(5), None]
    details: dict[str, Any] = {"error_kind": "Broken"}
    for _ in range(2):
        line.run(bulk_work.judge(work))
    assert (work.counts().well, work.counts().again) == (0, 0)
    line.settle(well, Outcome.COMPLETE)
    line.settle(dead, Outcome.FAIL, **details, permanent="again")
    line.settle(failing, Outcome.FAIL, **details, delay_ms=600_000)
    line.settle(stopped, Outcome.CANCELLED)
    for _ in range(2):
        line.run(replies_lost(bulk_work.judge(work)))

    assert (work.counts().well, work.counts().again) == (1, 2)
    assert line.raw.zcard(line.key(f"bulk:{made.id}:watched")) == 1


def test_of_what_is_over_nothing_is_left_in_the_queue(line: LiveQueue, runner: Runner) -> None:
    bring(line, JobState.DEAD, 3)
    work = runner.do("retry", queue=line.name)

    line.run(bulk_work.drop(work))

    assert line.raw.keys("lf:{line}:bulk*") == []
