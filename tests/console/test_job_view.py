from datetime import timedelta

from leaseforge.jobs import Backoff, JobError, JobState, Lease, Options
from leaseforge_console.views.job import JobPage, build
from tests.console.sample import NOW, ago, attempt, job


def story(page: JobPage) -> list[str]:
    return [f"{event.what}: {event.detail}" if event.detail else event.what for event in page.events]


def test_a_dead_job_tells_its_life_from_enqueue_to_end() -> None:
    page = build(
        job(
            JobState.DEAD,
            attempts=2,
            failures=1,
            recoveries=1,
            options=Options(max_attempts=1),
            error=JobError("GatewayTimeout", "no answer"),
            reason="attempts_exhausted",
            finished_at=ago(100),
            history=(
                attempt(1, "lost", began_s=290, ended_s=260),
                attempt(2, "failed", began_s=130, ended_s=100, kind="GatewayTimeout", trace="Traceback: no answer"),
            ),
        ),
        NOW,
        may_read_payload=True,
    )

    assert story(page) == [
        "Enqueued by checkout-api",
        "Claimed by node-1-17: waited 10 s · token 88001",
        "Lease lost: after 30 s",
        "Claimed by node-1-17: waited 2 min 10 s · token 88002",
        "Failed: GatewayTimeout · after 30 s",
        "Dead: its attempts are spent",
    ]
    assert page.can_retry
    assert page.can_delete
    assert page.traceback == "Traceback: no answer"
    assert [row.number for row in page.attempts] == [2, 1]
    assert page.lived == "3 min 20 s from enqueue to end"


def test_a_running_job_shows_its_lease_and_cannot_be_deleted() -> None:
    page = build(
        job(
            JobState.RUNNING,
            attempts=1,
            started_at=ago(4.2),
            worker="node-1-17",
            lease=Lease(88_911, NOW + timedelta(seconds=6)),
        ),
        NOW,
        may_read_payload=True,
    )

    assert page.when == "runs 4.2 s"
    assert (page.fence, page.lease_s) == (88_911, 6)
    assert not page.can_delete
    assert not page.can_retry
    assert story(page)[-2:] == ["Claimed by node-1-17: waited 4 min 56 s · token 88911", "Runs: 4.2 s"]


def test_a_completed_job_shows_how_long_it_ran_and_its_result() -> None:
    done = job(JobState.COMPLETED, attempts=1, started_at=ago(5), finished_at=ago(3), result=b'{"sent": 1}')

    page = build(done, NOW, may_read_payload=True)

    assert page.when == "done 3 s ago, took 2.0 s"
    assert story(page)[-1] == "Completed: ran 2.0 s"
    assert page.result is not None
    assert '"sent": 1' in page.result.text


def test_what_comes_next_is_told_for_waiting_jobs() -> None:
    retrying = build(job(JobState.RETRYING, due_at=NOW + timedelta(seconds=14)), NOW, may_read_payload=True)
    ready = build(job(JobState.READY, ready_at=ago(2)), NOW, may_read_payload=True)

    assert retrying.when == "again in 14 s"
    assert retrying.events[-1].open
    assert ready.when == "waits 2.0 s"


def test_payload_and_result_are_kept_from_who_may_not_read_them() -> None:
    page = build(job(JobState.COMPLETED, result=b"1", finished_at=NOW), NOW, may_read_payload=False)

    assert page.payload is None
    assert page.result is None
    assert page.payload_hidden


def test_an_action_is_bound_to_the_revision_that_was_shown() -> None:
    shown, later = (build(job(rev=rev), NOW, may_read_payload=True) for rev in (7, 8))

    assert shown.operation != later.operation


def test_options_are_told_in_words() -> None:
    options = Options(
        max_attempts=0, timeout_ms=30_000, backoff=Backoff.EXPONENTIAL, backoff_base_ms=2_000, backoff_cap_ms=60_000
    )

    facts = dict(build(job(options=options), NOW, may_read_payload=True).facts)

    assert facts["Max attempts"] == "without limit"
    assert facts["Timeout"] == "30 s"
    assert facts["Backoff"] == "exponential from 2.0 s to 1 min"


def test_a_trace_id_is_read_only_from_a_whole_traceparent() -> None:
    whole = job(traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

    assert build(whole, NOW, may_read_payload=True).trace_id == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert build(job(traceparent="broken"), NOW, may_read_payload=True).trace_id is None
