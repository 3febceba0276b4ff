"""Bad input gets a clear answer and changes nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from leaseforge_api.bodies import MAX_BODY_BYTES, MAX_BULK_BODY_BYTES
from tests.api.conftest import Client

MIB = 1024 * 1024
JOB: dict[str, Any] = {"type": "echo", "payload": {}}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def _nothing_changes(redis_client: "redis.Redis", admin: dict[str, str]) -> Iterator[None]:
    """Whatever a test of this file sends, no queue and no job is there afterwards."""
    yield
    # Accounts are there before, refused changes are audited, and the office of adding up statistics is taken in turn.
    own = (b"lf:{sys}:account", b"lf:{sys}:admins", b"lf:{sys}:audit", b"lf:{sys}:office:")
    assert [key for key in redis_client.scan_iter("*") if not key.startswith(own)] == []


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"queue": "a/b"}, "queue", "A-Z a-z 0-9"),
        ({"queue": "ü"}, "queue", "A-Z a-z 0-9"),
        ({"queue": "a{b}"}, "queue", "A-Z a-z 0-9"),
        ({"queue": ""}, "queue", "1 to 64"),
        ({"queue": "a" * 65}, "queue", "1 to 64"),
        ({"queue": "sys"}, "queue", "reserved"),
        ({"queue": None}, "queue", "str"),
        ({"priority": 2**31}, "priority", "2,147,483,647"),
        ({"priority": -(2**31) - 1}, "priority", "-2,147,483,648"),
        ({"priority": 2**80}, "priority", "2,147,483,647"),
        ({"priority": 1.5}, "priority", "int"),
        ({"priority": "high"}, "priority", "int, not str"),
        ({"priority": True}, "priority", "int"),
        ({"max_attempts": -1}, "max_attempts", "from 0"),
        ({"max_attempts": 10_001}, "max_attempts", "10,000"),
        ({"delay_seconds": 10 * 366 * 86_400}, "delay_seconds", "315360000"),
        ({"delay_seconds": -1}, "delay_seconds", ">= 0"),
        ({"scheduled_at": "2099-01-01T00:00:00Z"}, "scheduled_at", "10 years"),
        ({"scheduled_at": "2031-01-01T00:00:00"}, "scheduled_at", "timezone"),
        ({"scheduled_at": "tomorrow"}, "scheduled_at", "RFC3339"),
        ({"scheduled_at": "2031-01-01T00:00:00Z", "delay_seconds": 1}, "scheduled_at", "one of both"),
        ({"timeout_seconds": 0}, "timeout_seconds", "> 0"),
        ({"timeout_seconds": 0.0001}, "timeout_seconds", "from"),
        ({"timeout_seconds": 8 * 86_400}, "timeout_seconds", "604800"),
        ({"backoff": {"kind": "wild"}}, "backoff.kind", "one of fixed, exponential, not 'wild'"),
        ({"backoff": {"base_seconds": -1}}, "backoff.base_seconds", ">= 0"),
        ({"backoff": {"factor": 2}}, "backoff.factor", "known field"),
        ({"backoff": "fixed"}, "backoff", "object"),
        ({"tags": ["a"] * 17}, "tags", "16"),
        ({"tags": ["a" * 65]}, "tags", "64"),
        ({"tags": "blue"}, "tags", "array"),
        ({"tags": [1]}, "tags[0]", "str"),
        ({"type": ""}, "type", "empty"),
        ({"type": "a" * 129}, "type", "128"),
        ({"type": "a\nb"}, "type", "must not hold U+000A"),
        ({"type": 7}, "type", "str"),
        ({"colour": "blue"}, "colour", "known field"),
        ({"id": "7"}, "id", "known field"),
        ({"status": "dead"}, "status", "known field"),
    ],
)
async def test_a_wrong_field_is_named_with_what_would_be_right(
    changed: dict[str, Any], field: str, words: str, client: Client, admin: dict[str, str]
) -> None:
    answer = await client.post("/api/jobs", json=JOB | changed, headers=admin)

    assert answer.status_code == 400
    problem = answer.json()
    assert [error["field"] for error in problem["errors"]] == [field]
    assert words in problem["errors"][0]["message"]
    assert problem["status"] == 400
    assert problem["instance"] == "/api/jobs"
    assert problem["request_id"] == answer.headers["x-request-id"]


async def test_all_wrong_fields_are_named_at_once(client: Client, admin: dict[str, str]) -> None:
    body = {"priority": "high", "queue": 7, "colour": "blue", "shape": "round", "tags": "x"}

    answer = await client.post("/api/jobs", json=body, headers=admin)

    named = {error["field"] for error in answer.json()["errors"]}
    assert named == {"type", "priority", "queue", "colour", "shape", "tags"}


async def test_all_values_out_of_bounds_are_named_at_once(client: Client, admin: dict[str, str]) -> None:
    answer = await client.post(
        "/api/jobs", json=JOB | {"priority": 2**40, "max_attempts": -1, "queue": "/"}, headers=admin
    )

    assert {error["field"] for error in answer.json()["errors"]} == {"priority", "max_attempts", "queue"}


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"null",
        b"[]",
        b"7",
        b'"text"',
        b"{'type': 'echo'}",
        b'{"type": "echo"} {"type": "echo"}',
        b'{"type": "echo", "payload": NaN}',
        b'{"type": "echo", "payload": {"a": }}',
        b'{"type": 7, "payload": {"a": }}',
        b'{"colour": 1, "type": "echo"',
        b'{"type": 7, "payload": ' + b"[" * 100_000,
        b'{"type": "\xff"}',
        b'{"type": "echo", "payload": "\xff"}',
        b'{"type": "echo", "payload": "\\ud800"}',
        b"\x1f\x8b\x08\x00",
        '{"type": "echo"}'.encode("utf-16"),
    ],
)
async def test_a_body_that_is_not_what_it_says_is_refused(body: bytes, client: Client, admin: dict[str, str]) -> None:
    answer = await client.post("/api/jobs", content=body, headers=admin | JSON)

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json; charset=latin-1",
        "text/plain; application/json",
    ],
)
async def test_only_json_is_taken(content_type: str, client: Client, admin: dict[str, str]) -> None:
    answer = await client.post(
        "/api/jobs", content=json.dumps(JOB), headers=admin | ({"Content-Type": content_type} if content_type else {})
    )

    assert answer.status_code == 415
    assert "application/json" in answer.json()["detail"]


@pytest.mark.parametrize("depth", [65, 1_000, 100_000, 500_000])
async def test_a_payload_nested_too_deep_is_refused(depth: int, client: Client, admin: dict[str, str]) -> None:
    body = f'{{"type": "echo", "payload": {nested(depth)}}}'

    answer = await client.post("/api/jobs", content=body, headers=admin | JSON)

    assert answer.status_code == 400
    assert "64 levels" in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize("path", ["/api/jobs", "/api/jobs/bulk", "/api/auth/login", "/api/queues/mail/purge"])
async def test_a_body_nested_too_deep_is_refused_everywhere(path: str, client: Client, admin: dict[str, str]) -> None:
    answer = await client.post(path, content=nested(100_000), headers=admin | JSON)

    assert answer.status_code == 400


async def test_a_payload_over_one_mebibyte_is_too_large(client: Client, admin: dict[str, str]) -> None:
    answer = await client.post("/api/jobs", json=JOB | {"payload": "x" * (MIB - 1)}, headers=admin)

    assert answer.status_code == 413
    assert answer.json()["errors"][0]["field"] == "payload"


@pytest.mark.parametrize(
    ("path", "limit"),
    [("/api/jobs", MAX_BODY_BYTES), ("/api/auth/login", MAX_BODY_BYTES), ("/api/jobs/bulk", MAX_BULK_BODY_BYTES)],
)
async def test_a_body_over_the_limit_is_refused_announced_or_not(
    path: str, limit: int, client: Client, admin: dict[str, str]
) -> None:
    async def chunks() -> Any:
        for _ in range(limit // 65_536 + 1):
            yield b" " * 65_536

    announced = await client.post(path, content=b" " * (limit + 1), headers=admin | JSON)
    chunked = await client.post(path, content=chunks(), headers=admin | JSON)

    assert (announced.status_code, chunked.status_code) == (413, 413)
    assert announced.json()["type"] == "urn:leaseforge:problem:body-too-large"


@pytest.mark.parametrize("key", ["", "x" * 257, "a\x7fb", "ü" * 129])
async def test_an_idempotency_key_has_bounds_too(key: str, client: Client, admin: dict[str, str]) -> None:
    headers = [(name.encode(), value.encode()) for name, value in (admin | {"Idempotency-Key": key}).items()]

    answer = await client.post("/api/jobs", json=JOB, headers=headers)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"


@pytest.mark.parametrize(
    ("jobs", "fields"),
    [
        ([], ["jobs"]),
        ([JOB] * 1_001, ["jobs"]),
        ({}, ["jobs"]),
        ([JOB, {"payload": 1}, JOB | {"colour": "blue"}, 7], ["jobs[1].type", "jobs[2].colour", "jobs[3]"]),
        ([JOB, JOB | {"priority": 2**40}, JOB | {"queue": "/"}], ["jobs[1].priority", "jobs[2].queue"]),
        ([JOB, JOB | {"payload": json.loads(nested(65))}], ["jobs[1].payload"]),
    ],
)
async def test_one_wrong_job_refuses_a_whole_bulk_request(
    jobs: Any, fields: list[str], client: Client, admin: dict[str, str]
) -> None:
    answer = await client.post("/api/jobs/bulk", json={"jobs": jobs}, headers=admin)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == fields


async def test_one_large_payload_refuses_a_whole_bulk_request(client: Client, admin: dict[str, str]) -> None:
    jobs = [JOB, JOB | {"payload": "x" * MIB}]

    answer = await client.post("/api/jobs/bulk", json={"jobs": jobs}, headers=admin)

    assert answer.status_code == 413
    assert answer.json()["errors"][0]["field"] == "jobs[1].payload"


async def test_a_thousand_wrong_jobs_do_not_make_a_thousand_lines(client: Client, admin: dict[str, str]) -> None:
    answer = await client.post("/api/jobs/bulk", json={"jobs": [{"a": 1}] * 1_000}, headers=admin)

    assert answer.status_code == 400
    assert len(answer.json()["errors"]) == 100


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=bzotMQ", "cursor"),
        ("cursor=" + "b" * 65, "cursor"),
    ],
)
@pytest.mark.parametrize("path", ["/api/queues", "/api/workers"])
async def test_pages_have_bounds(path: str, query: str, field: str, client: Client, admin: dict[str, str]) -> None:
    answer = await client.get(f"{path}?{query}", headers=admin)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("name", ["a b", "ü", "sys", "a" * 65, "%7Bx%7D", "*"])
async def test_a_name_no_queue_can_have_is_said_to_be_wrong(name: str, client: Client, admin: dict[str, str]) -> None:
    for method, path in (("GET", ""), ("GET", "/jobs"), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/purge")):
        answer = await client.request(method, f"/api/queues/{name}{path}", headers=admin)

        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "queue"


@pytest.mark.parametrize(
    "body",
    [
        {"frozen": {"sequence": 1}},
        {"frozen": {"sequence": "1", "as_of_ms": 1}},
        {"frozen": {"sequence": -1, "as_of_ms": 1}},
        {"frozen": {"sequence": 1, "as_of_ms": 2**63}},
        {"frozen": None},
        {"reason": ""},
        {"reason": "x" * 501},
        {"states": ["dead"]},
    ],
)
async def test_a_purge_that_is_not_clear_is_refused(body: Any, client: Client, admin: dict[str, str]) -> None:
    answer = await client.post("/api/queues/mail/purge", json=body, headers=admin)

    assert answer.status_code == 400


async def test_no_answer_to_bad_input_repeats_a_secret(client: Client, admin: dict[str, str]) -> None:
    answer = await client.post("/api/auth/login", json={"username": 1, "password": "hunter2"})

    assert "hunter2" not in answer.text
