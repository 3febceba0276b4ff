"""Requests and their spans: whose trace they belong to, what they are called, and what log lines say of them."""

import json

import pytest

from tests.support import eventually_sync
from tests.tracing.conftest import Installation, a_caller


def test_a_caller_who_is_not_sampled_is_not_recorded(installation: Installation) -> None:
    caller, recorded = a_caller(sampled=False), a_caller()
    with installation.worker():
        quiet = installation.enqueue(caller, "follow", queue="sampled")
        installation.await_state(quiet["id"], "completed")
        installation.enqueue(recorded, "follow", queue="sampled")
        installation.collector.await_names(recorded.trace_id, "POST /api/jobs", "task.acknowledge")

    assert installation.collector.names(caller.trace_id) == []
    assert quiet["traceparent"].startswith(f"00-{caller.trace_id}-")
    assert quiet["traceparent"].endswith("-00")


@pytest.mark.parametrize("sent", ["00-zz", "00-" + "0" * 32 + "-" + "1" * 16 + "-01", "x" * 5000])
def test_a_malformed_traceparent_is_ignored_and_the_job_taken_in(sent: str, installation: Installation) -> None:
    answer = installation.http.post(
        "/api/jobs", json={"type": "follow", "queue": "malformed"}, headers={"traceparent": sent, "tracestate": "=,="}
    )

    assert answer.status_code == 201
    job = answer.json()
    trace_id = job["traceparent"][3:35]
    assert trace_id not in sent
    spans = installation.collector.await_names(trace_id, "POST /api/jobs", "task.enqueue")
    assert next(span for span in spans if span.name == "POST /api/jobs").parent_id == ""


def test_headers_reach_the_collector_and_names_hold_no_ids(installation: Installation) -> None:
    caller = a_caller()
    job = installation.enqueue(caller, "follow", queue="names")
    seen = a_caller()
    headers = {"traceparent": seen.traceparent}
    for path in (f"/api/jobs/{job['id']}", f"/api/jobs/{'0' * 8}-0000-4000-8000-{'0' * 12}", "/no/such/page", "/livez"):
        installation.http.get(path, headers=headers)
    installation.http.head("/api/queues/names", headers=headers)

    spans = installation.collector.await_names(
        seen.trace_id, *["GET /api/jobs/{job_id}"] * 2, "GET", "HEAD /api/queues/{name}"
    )

    assert len(spans) == 4  # a probe is none
    assert all(span.error is None for span in spans)
    assert any(headers.get("x-tenant") == "ours" for headers in installation.collector.requests)


def test_log_lines_say_whose_trace_they_belong_to(installation: Installation) -> None:
    caller = a_caller()
    with installation.worker() as worker:
        job = installation.enqueue(caller, "follow", queue="logs")
        installation.await_state(job["id"], "completed")
        eventually_sync(lambda: "job_completed" in worker.output())
        told = [json.loads(line) for line in worker.output().splitlines() if job["id"] in line]
    asked = [json.loads(line) for line in installation.server.output().splitlines() if job["id"] in line]

    assert {line["event"] for line in told} >= {"job_claimed", "job_started", "job_completed"}
    for line in [*told, *asked]:
        assert (line["trace_id"], len(line["span_id"])) == (caller.trace_id, 16), line
