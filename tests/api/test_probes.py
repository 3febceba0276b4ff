"""Probes and metrics, with Redis there and away."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from leaseforge.exchanges import Outcome
from leaseforge.store import Store, connect
from leaseforge_auth.roles import Role
from tests.api.conftest import Bearer, Client, serving
from tests.api.support import claim_job, report_worker, settle
from tests.support import start_server


async def test_probes_say_that_all_is_well(client: Client) -> None:
    answers = {path: (await client.get(path)) for path in ("/livez", "/health", "/ready")}

    assert {answer.status_code for answer in answers.values()} == {200}
    assert answers["/livez"].json() == {"status": "ok"}
    assert answers["/health"].json() == {"status": "ok", "redis": "ok"}
    assert answers["/ready"].json() == {"status": "ready", "redis": "ok"}


async def test_metrics_count_the_whole_installation(client: Client, admin: dict[str, str], store: Store) -> None:
    await settle(store, await claim_job(store, "mail"), Outcome.COMPLETE)
    await client.post("/api/jobs", json={"type": "echo", "queue": "mail"}, headers=admin)
    await client.post("/api/queues/mail/pause", headers=admin)
    await report_worker(store, "one")

    answer = await client.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    for line in (
        'leaseforge_tasks_enqueued_total{queue="mail"} 2.0',
        'leaseforge_tasks_processed_total{queue="mail"} 1.0',
        'leaseforge_tasks_dead_lettered_total{queue="mail"} 0.0',
        'leaseforge_queue_ready{queue="mail"} 1.0',
        'leaseforge_queue_completed{queue="mail"} 1.0',
        'leaseforge_queue_consumers{queue="mail"} 0.0',
        'leaseforge_queue_paused{queue="mail"} 1.0',
        'leaseforge_workers{state="running"} 1.0',
        'leaseforge_slots{state="running"} 4.0',
    ):
        assert line in lines
    assert any(line.startswith('leaseforge_queue_oldest_ready_seconds{queue="mail"}') for line in lines)


async def test_a_queue_that_cannot_be_read_is_left_out_and_hides_no_other(
    client: Client, admin: dict[str, str], redis_client: "redis.Redis"
) -> None:
    for queue in ("broken", "whole"):
        await client.post("/api/jobs", json={"type": "echo", "queue": queue}, headers=admin)
    redis_client.delete("lf:{broken}:counts")
    redis_client.set("lf:{broken}:counts", "not a hash")

    answer = await client.get("/metrics")

    assert answer.status_code == 200
    assert 'leaseforge_queue_ready{queue="whole"} 1.0' in answer.text
    assert 'queue="broken"' not in answer.text


async def test_workers_that_cannot_be_read_are_left_out(client: Client, redis_client: "redis.Redis") -> None:
    redis_client.set("lf:{sys}:workers", "not a set")

    answer = await client.get("/metrics")

    assert answer.status_code == 200
    assert "leaseforge_workers{" not in answer.text
    assert "leaseforge_queue_consumers" not in answer.text


async def test_queues_that_cannot_be_read_are_left_out(client: Client, redis_client: "redis.Redis") -> None:
    redis_client.set("lf:{sys}:queues", "not a set")

    answer = await client.get("/metrics")

    assert answer.status_code == 200
    assert "leaseforge_queue_ready" not in answer.text
    assert 'leaseforge_workers{state="lost"} 0.0' in answer.text


async def test_requests_count_by_route_and_made_up_paths_make_no_series(client: Client, admin: dict[str, str]) -> None:
    before = requests_by_labels((await client.get("/metrics")).text)
    for number in range(20):
        await client.get(f"/api/jobs/made-up-{number}", headers=admin)
        await client.get(f"/no/such/path/{number}")
        await client.request(f"VERB{number}", "/livez")

    answer = await client.get("/metrics")

    after = requests_by_labels(answer.text)
    told = {labels: count - before.get(labels, 0) for labels, count in after.items() if count != before.get(labels)}
    assert told.pop(("GET", "/metrics", "2xx")) == 1
    assert told.pop(("GET", "/api/jobs/{job_id}", "4xx")) == 20
    assert told.pop(("GET", "unmatched", "4xx")) == 20
    [[(method, _, _), count]] = told.items()
    assert (method, count) == ("other", 20)
    assert "leaseforge_http_requests_in_flight 1.0" in answer.text
    assert "made-up" not in answer.text


def requests_by_labels(page: str) -> dict[tuple[str, str, str], float]:
    """Requests by method, route and class of status."""
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "leaseforge_http_request_duration_seconds_count"
    }


async def test_with_a_token_only_who_sends_it_gets_metrics(store: Store) -> None:
    async with serving(store, METRICS_TOKEN="a-token-for-scrapers") as client:
        wrong = [{}, {"Authorization": "Bearer another-token-here"}, {"Authorization": "a-token-for-scrapers"}]
        refused = [(await client.get("/metrics", headers=headers)).status_code for headers in wrong]
        let_in = await client.get("/metrics", headers={"Authorization": "Bearer a-token-for-scrapers"})
        probed = await client.get("/health")

    assert refused == [401, 401, 401]
    assert "leaseforge_build_info" in let_in.text
    assert probed.status_code == 200


@pytest.fixture
async def cut_off(tmp_path: Path, accounts_by_role: object) -> AsyncIterator[Client]:
    """A server whose Redis went away after the start."""
    own = start_server(tmp_path)
    lonely = connect(own.clean_database(), retry_s=0.0)
    try:
        async with serving(lonely) as client:
            own.embedded.stop()
            yield client
    finally:
        own.embedded.stop()
        await lonely.aclose()


async def test_without_redis_nothing_opens_and_the_process_stays_alive(cut_off: Client, bearer: Bearer) -> None:
    headers = bearer(Role.ADMIN)

    assert (await cut_off.get("/livez")).status_code == 200
    for path, word in (("/health", "unavailable"), ("/ready", "unavailable")):
        answer = await cut_off.get(path)
        assert (answer.status_code, answer.json()) == (503, {"status": word, "redis": "unreachable"})
    for method, path in (
        ("GET", "/api/auth/me"),
        ("GET", "/api/queues"),
        ("POST", "/api/queues/mail/pause"),
        ("POST", "/api/jobs"),
    ):
        answer = await cut_off.request(method, path, headers=headers)
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["retry-after"]
    login = await cut_off.post("/api/auth/login", json={"username": "admin", "password": "x"})
    assert login.status_code == 503


async def test_without_redis_metrics_tell_what_the_process_knows_itself(cut_off: Client) -> None:
    await cut_off.get("/livez")

    with capture_logs() as logs:
        answer = await cut_off.get("/metrics")
        await cut_off.get("/metrics")

    assert answer.status_code == 200
    families = {family.name for family in text_string_to_metric_families(answer.text)}
    assert {"leaseforge_build_info", "leaseforge_loop_age_seconds", "process_cpu_seconds"} <= families
    assert requests_by_labels(answer.text)["GET", "/livez", "2xx"] == 1
    assert "leaseforge_server_degraded 1.0" in answer.text.splitlines()
    [told] = [line for line in logs if line["event"] == "metrics_incomplete"]
    assert "127.0.0.1" in told["error"]
    assert not {name for name in families if name.startswith(("leaseforge_queue", "leaseforge_tasks", "leaseforge_w"))}


async def test_without_redis_a_bad_token_is_still_refused(cut_off: Client) -> None:
    answer = await cut_off.get("/api/queues", headers={"Authorization": "Bearer x"})

    assert answer.status_code == 401


async def test_a_full_redis_refuses_new_jobs_and_lets_operators_work(
    client: Client, bearer: Bearer, redis_client: "redis.Redis"
) -> None:
    headers = bearer(Role.ADMIN)
    await client.post("/api/jobs", json={"type": "echo"}, headers=headers)
    redis_client.config_set("maxmemory", 1)
    try:
        refused = await client.post("/api/jobs", json={"type": "echo"}, headers=headers)
        purged = await client.post("/api/queues/default/purge", headers=headers)
        logged_out = await client.post("/api/auth/logout", headers=headers)
    finally:
        redis_client.config_set("maxmemory", 0)

    assert (refused.status_code, refused.json()["type"]) == (503, "urn:leaseforge:problem:store-full")
    assert refused.headers["retry-after"]
    assert (purged.status_code, purged.json()) == (200, {"removed": 1})
    assert logged_out.status_code == 204
