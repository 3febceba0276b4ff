"""A job is one trace: from its producer's span through every process that had it in its hands, restarts included."""

from collections.abc import Callable
from pathlib import Path

from leaseforge import Client
from tests.support import Process, eventually_sync
from tests.tracing.collector import Collector, Seen
from tests.tracing.conftest import Installation, a_caller, check_connected

SECRET = "hunter2-do-not-tell"
Workers = Callable[..., Process]


def one(spans: list[Seen], name: str) -> Seen:
    found = [span for span in spans if span.name == name]
    assert len(found) == 1, [span.name for span in spans]
    return found[0]


def chain(spans: list[Seen], last: Seen) -> list[str]:
    """The names from the caller's child down to this span."""
    by_id = {span.span_id: span for span in spans}
    names = [last.name]
    while (parent := by_id.get(last.parent_id)) is not None:
        names.insert(0, parent.name)
        last = parent
    return names


def test_success_hangs_on_the_callers_span(installation: Installation, workers: Workers, collector: Collector) -> None:
    workers()
    caller = a_caller()
    job = installation.enqueue(caller, "follow", {"token": SECRET})

    spans = collector.await_names(caller.trace_id, "POST /api/jobs", "task.acknowledge")

    check_connected(spans, caller.span_id)
    request = one(spans, "POST /api/jobs")
    assert (request.service, request.parent_id) == ("leaseforge-server", caller.span_id)
    assert request.attributes["http.route"] == "/api/jobs"
    assert request.attributes["http.response.status_code"] == 201
    execute, acknowledge = one(spans, "task.execute"), one(spans, "task.acknowledge")
    assert chain(spans, execute) == ["POST /api/jobs", "task.enqueue", "task.claim", "task.execute"]
    assert chain(spans, acknowledge) == ["POST /api/jobs", "task.enqueue", "task.claim", "task.acknowledge"]
    assert {execute.service, acknowledge.service} == {"leaseforge-worker"}
    assert acknowledge.attributes["leaseforge.state"] == "completed"
    assert {span.job_id for span in spans if span is not request} == {job["id"]}
    assert all(span.error is None for span in spans)
    assert job["traceparent"] == f"00-{caller.trace_id}-{one(spans, 'task.enqueue').span_id}-01"
    assert not any(SECRET.encode() in body for body in collector.bodies)


def test_failure_retry_death_and_replay_are_one_trace_over_a_restart(
    installation: Installation, workers: Workers, collector: Collector, tmp_path: Path
) -> None:
    first = workers()
    caller, operator, cured = a_caller(), a_caller(), tmp_path / "cured"
    payload = {"cured": str(cured), "secret": SECRET}
    backoff = {"kind": "fixed", "base_seconds": 0.05}
    job = installation.enqueue(caller, "unlucky", payload, max_attempts=2, backoff=backoff)
    installation.await_state(job["id"], "dead")
    first.end()
    cured.touch()

    answer = installation.http.post(
        f"/api/jobs/{job['id']}/retry", json={}, headers={"traceparent": operator.traceparent}
    )
    assert answer.status_code < 300, answer.text
    workers()
    installation.await_state(job["id"], "completed")

    spans = collector.await_names(caller.trace_id, *["task.acknowledge"] * 3, "dlq.replay")
    check_connected(spans, caller.span_id)
    names = [span.name for span in spans]
    assert [names.count(name) for name in ("task.enqueue", "task.claim", "task.execute")] == [1, 3, 3]
    scheduled, promoted, died, replayed = (
        one(spans, name) for name in ("retry.schedule", "retry.promote", "dlq.transition", "dlq.replay")
    )
    assert chain(spans, scheduled)[-2:] == ["task.acknowledge", "retry.schedule"]
    assert chain(spans, died)[-2:] == ["task.acknowledge", "dlq.transition"]
    assert scheduled.start_ns <= promoted.end_ns <= died.start_ns <= replayed.end_ns
    assert died.attributes["leaseforge.reason"] == "attempts_exhausted"
    [(linked, _)] = replayed.links
    assert linked == operator.trace_id
    failed = [span for span in spans if span.error is not None]
    assert {span.name for span in failed} == {"task.execute"}
    assert {span.error for span in failed} == {"RuntimeError: card … of … was refused, token=[masked]"}


def test_a_crash_and_the_recovery_by_another_worker_are_one_trace(
    installation: Installation, workers: Workers, collector: Collector
) -> None:
    victim = workers()
    caller = a_caller()
    job = installation.enqueue(caller, "deadly")
    assert victim.wait() == -9
    workers()
    installation.await_state(job["id"], "completed")

    spans = collector.await_names(caller.trace_id, "task.recover", "task.acknowledge")

    check_connected(spans, caller.span_id)
    recovered = one(spans, "task.recover")
    assert (recovered.attributes["leaseforge.state"], recovered.attributes["leaseforge.attempt"]) == ("ready", 1)
    [execute] = [span for span in spans if span.name == "task.execute"]
    assert execute.attributes["leaseforge.attempt"] == 2
    assert recovered.end_ns <= execute.start_ns


def test_a_scheduled_job_is_promoted_in_its_trace(
    installation: Installation, workers: Workers, collector: Collector
) -> None:
    workers()
    caller = a_caller()
    installation.enqueue(caller, "follow", delay_seconds=0.5)

    spans = collector.await_names(caller.trace_id, "schedule.promote", "task.acknowledge")

    check_connected(spans, caller.span_id)
    assert chain(spans, one(spans, "schedule.promote"))[-2:] == ["task.enqueue", "schedule.promote"]


def test_what_handlers_do_and_enqueue_goes_on_in_the_trace(
    installation: Installation, workers: Workers, collector: Collector
) -> None:
    workers()
    caller, other = a_caller(), "11111111-2222-4333-8444-555555555555"
    installation.enqueue(caller, "coroutine", {"follow": "elsewhere"})
    installation.enqueue(caller, "threaded", {"other": other})
    installation.enqueue(caller, "isolated")

    own = ["work in a coroutine", "work in a thread", "work in a process"]
    spans = collector.await_names(caller.trace_id, *own, *["task.enqueue"] * 6, *["task.acknowledge"] * 6)

    check_connected(spans, caller.span_id)
    by_id = {span.span_id: span for span in spans}
    for name in own:
        assert by_id[one(spans, name).parent_id].name == "task.execute"
    follow_ups = [
        span for span in spans if span.name == "task.claim" and span.attributes["leaseforge.task"] == "follow"
    ]
    for span in follow_ups:
        assert any(name in chain(spans, span) for name in own), chain(spans, span)
    assert sorted(span.attributes["messaging.destination.name"] for span in follow_ups) == ["default"] * 2 + [
        "elsewhere"
    ]
    assert any(span.job_id == other for span in follow_ups)


def test_one_call_for_many_jobs_links_to_each_of_them(
    installation: Installation, workers: Workers, collector: Collector
) -> None:
    callers = [a_caller() for _ in range(3)]
    for caller in callers:
        installation.enqueue(caller, "follow", queue="batches")
    together = a_caller()
    answer = installation.http.post(
        "/api/jobs/bulk",
        json={"jobs": [{"type": "follow", "queue": "bulk"} for _ in range(3)]},
        headers={"traceparent": together.traceparent},
    )
    assert answer.status_code == 200
    workers()

    for caller in callers:
        collector.await_names(caller.trace_id, "task.acknowledge")
    bulk = collector.await_names(together.trace_id, *["task.acknowledge"] * 3)

    def batch_of(trace_id: str) -> Seen | None:
        found = (span for span in collector.spans if span.name == "task.claim_batch")
        return next((span for span in found if trace_id in {trace for trace, _ in span.links}), None)

    eventually_sync(lambda: batch_of(callers[0].trace_id) is not None)
    batch = batch_of(callers[0].trace_id)
    assert batch is not None
    assert {caller.trace_id for caller in callers} <= {trace for trace, _ in batch.links}
    for caller in callers:
        claim = one(collector.trace(caller.trace_id), "task.claim")
        assert claim.links == ((batch.trace_id, batch.span_id),)
    enqueue = one(bulk, "task.enqueue")
    assert enqueue.attributes["messaging.batch.message_count"] == 3
    assert {span.parent_id for span in bulk if span.name == "task.claim"} == {enqueue.span_id}


def test_a_job_without_a_trace_gets_one_of_its_own_for_all_attempts(
    installation: Installation, workers: Workers, collector: Collector, tmp_path: Path
) -> None:
    workers()
    with Client(installation.redis_url) as client:
        asked = client.enqueue(
            "unlucky",
            {"cured": str(tmp_path / "never"), "secret": ""},
            max_attempts=2,
            backoff="fixed",
            backoff_base_ms=10,
        )

    def attempts() -> list[Seen]:
        return [span for span in collector.spans if span.job_id == asked.id and span.name == "task.execute"]

    eventually_sync(lambda: len(attempts()) == 2, within_s=30)
    assert len({span.trace_id for span in attempts()}) == 1
