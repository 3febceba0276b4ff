"""Bodies and names no sensible program sends, on every route that takes them: an exact answer, and nothing lost.

What is refused field by field is in test_bad_input.py; here it is bytes, encodings and characters.
"""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from leaseforge.store import Store
from leaseforge_api.bodies import MAX_BULK_BODY_BYTES
from leaseforge_auth.guards import AUTH
from tests.api.conftest import Client
from tests.api.support import kill_job
from tests.api.test_routes import MISSING_ID, ROUTES, Route

MIB = 1024 * 1024
JSON = {"Content-Type": "application/json"}
BOM = b"\xef\xbb\xbf"
TEXT = '{"type": "echo", "payload": "grün 🎉"}'

TAKES_BODY = [
    route
    for route in ROUTES
    if route.opt.get(AUTH) == "bearer" and route.method in ("POST", "PATCH") and route.template != "/enqueue"
]
READS_NO_BODY = {
    "POST /api/auth/logout",
    "POST /api/auth/refresh",
    "POST /api/sessions/end-all",
    "POST /api/users/{username}/logout",
    "POST /dlq/{job_id}/retry",  # TaskForge's has none
}
BODIES = [route for route in TAKES_BODY if str(route) not in READS_NO_BODY]

NOT_JSON: dict[str, bytes] = {
    "utf-16": TEXT.encode("utf-16"),
    "utf-16 without a mark": TEXT.encode("utf-16-le"),
    "utf-32": TEXT.encode("utf-32"),
    "a byte order mark": BOM + TEXT.encode(),
    "latin-1": TEXT.replace(" 🎉", "").encode("latin-1"),
    "invalid utf-8": b'{"type": "echo", "payload": "\xc3\x28"}',
    "overlong utf-8": b'{"type": "echo", "payload": "\xc0\xaf"}',
    "a surrogate in utf-8": b'{"type": "echo", "payload": "\xed\xa0\x80"}',
    "a lone surrogate": b'{"type": "\\ud83c"}',
    "a bare NUL": b'{"type": "echo", "payload": "a\x00b"}',
    "NULs": b"\x00" * 64,
    "NaN": b"NaN",
    "Infinity": b'{"type": "echo", "payload": -Infinity}',
    "a comment": b'{"type": "echo" /* no */}',
    "a comma too many": b'{"type": "echo",}',
    "two documents": b"{}{}",
    "100,000 arrays": b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "an endless array": b"[" * 100_000,
    "nested inside a known field": b'{"reason": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


def is_problem(answer: Any, status: int, kind: str) -> bool:
    """The whole shape, whatever went wrong."""
    assert answer.status_code == status, (answer.status_code, answer.text[:300])
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["type"] == f"urn:leaseforge:problem:{kind}"
    assert document["status"] == status
    assert document["request_id"] == answer.headers["x-request-id"]
    assert {"title", "detail", "instance", "errors"} <= set(document)
    assert document["title"]
    assert document["detail"]
    return True


@pytest.fixture
async def kept(client: Client, admin: dict[str, str], store: Store) -> AsyncIterator[str]:
    """A dead job that is still there, the only one, when all is over."""
    job_id = await kill_job(store, "mail")
    yield job_id
    listed = (await client.get("/api/jobs", headers=admin)).json()
    assert [item["id"] for item in listed["items"]] == [job_id]
    assert (await client.get("/api/users", headers=admin)).json()["total"] == 4
    assert (await client.get("/api/tokens?user=*", headers=admin)).json()["total"] == 0
    assert (await client.get("/api/bulk", headers=admin)).json()["total"] == 0


@pytest.mark.parametrize("route", BODIES, ids=str)
async def test_what_is_no_json_is_refused_by_every_route(
    route: Route, client: Client, admin: dict[str, str], kept: str
) -> None:
    path = route.path.replace(MISSING_ID, kept).replace("nowhere", "mail")
    for name, body in NOT_JSON.items():
        answer = await client.request(route.method, path, content=body, headers=admin | JSON)
        assert is_problem(answer, 400, "invalid-request"), name


@pytest.mark.parametrize("route", BODIES, ids=str)
async def test_a_body_too_large_is_refused_by_every_route_announced_or_in_chunks(
    route: Route, client: Client, admin: dict[str, str], kept: str
) -> None:
    limit = MAX_BULK_BODY_BYTES if route.template == "/api/jobs/bulk" else MIB + 65_536
    path = route.path.replace(MISSING_ID, kept).replace("nowhere", "mail")

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(limit // 65_536 + 1):
            yield b" " * 65_536

    for content in (b" " * (limit + 1), chunks()):
        answer = await client.request(route.method, path, content=content, headers=admin | JSON)
        assert is_problem(answer, 413, "body-too-large")


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (json.dumps("x" * (MIB - 2)), 201),
        (json.dumps("x" * (MIB - 1)), 413),
        (json.dumps("🎉" * (MIB // 4), ensure_ascii=False), 413),
        ('"' + "🎉" * (MIB // 4 - 1) + '"', 201),
        ('"' + "\\u0000" * 1_000 + '"', 201),
        ('"\\ud83c\\udf89"', 201),
        ('"\\ud83c"', 400),
        ('"\\udf89\\ud83c"', 400),
        ("1e400", 201),
        ("-1e-400", 201),
        ("9" * 10_000, 201),
        ("0." + "1" * 10_000, 201),
        ("1E+2147483648", 201),
        ("01", 400),
        ("+1", 400),
        (".5", 400),
        ("NaN", 400),
        ('{"a": 1, "a": 2, "": {"": []}}', 201),
        ('"\u2028\u2029\ufeff\ufffe"', 201),
        ("[" * 64 + "]" * 64, 201),
        ("[" * 65 + "]" * 65, 400),
    ],
)
async def test_a_payload_is_kept_as_it_came_or_refused(
    payload: str, status: int, client: Client, admin: dict[str, str], store: Store
) -> None:
    body = f'{{"type": "echo", "payload": {payload}}}'.encode()

    answer = await client.post("/api/jobs", content=body, headers=admin | JSON)

    if status != 201:
        assert is_problem(answer, status, "payload-too-large" if status == 413 else "invalid-request")
        assert (await client.get("/api/jobs", headers=admin)).json()["total"] == 0
        return
    assert answer.status_code == 201, answer.text[:300]
    shown = await client.get(f"/api/jobs/{answer.json()['id']}", headers=admin)
    if (base64_text := shown.json().get("payload_base64")) is not None:
        assert base64.b64decode(base64_text) == payload.encode()  # JSON that few programs can read
    else:
        assert f'"payload":{payload}'.encode() in shown.content


@pytest.mark.parametrize(
    ("body", "field", "kept_value"),
    [
        (b'{"type": "first", "type": "second"}', "type", "second"),
        (b'{"queue": "a", "type": "echo", "queue": "b"}', "queue", "b"),
        (b'{"t\\u0079pe": "echo"}', "type", "echo"),
        (b'{"type": "\\u0065cho"}', "type", "echo"),
        (b'\n\t {"type": "echo", "priority": -0}\r\n', "priority", 0),
        (b'{"type": "echo", "priority": -2147483648}', "priority", -(2**31)),
        (b'{"type": "\xf0\x9f\x8e\x89", "tags": ["\xf0\x9f\x8e\x89"]}', "type", "🎉"),
    ],
)
async def test_unusual_json_means_what_it_says(
    body: bytes, field: str, kept_value: object, client: Client, admin: dict[str, str]
) -> None:
    answer = await client.post("/api/jobs", content=body, headers=admin | JSON)

    assert answer.status_code == 201, answer.text
    assert answer.json()[field] == kept_value
    assert (await client.get(f"/api/jobs/{answer.json()['id']}", headers=admin)).json()[field] == kept_value


async def test_sixteen_mebibytes_of_jobs_are_stored_whole(client: Client, admin: dict[str, str]) -> None:
    jobs = [{"type": "echo", "payload": "x" * (MIB - 200)} for _ in range(15)] + [{"type": "echo"}] * 900
    body = json.dumps({"jobs": jobs}).encode()
    body += b" " * (MAX_BULK_BODY_BYTES - len(body))

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 1_000_003):
            yield body[start : start + 1_000_003]

    answer = await client.post("/api/jobs/bulk", content=chunks(), headers=admin | JSON)

    assert answer.status_code == 200, answer.text[:300]
    assert len(set(answer.json()["ids"])) == 915
    assert (await client.get("/api/jobs", headers=admin)).json()["total"] == 915
    last = (await client.get(f"/api/jobs/{answer.json()['ids'][14]}", headers=admin)).json()
    assert last["payload"] == "x" * (MIB - 200)


NAMES = [
    "/",
    "a/b",
    "+",
    "a+b",
    "%",
    "%25",
    "%zz",
    "?",
    "a?b",
    "#",
    "..",
    "../..",
    ".",
    "🎉",
    "\x00",
    "a\nb",
    "\u202e",
    "*",
    "{x}",
    "'",
    "\\",
]
"""As somebody means them; they are sent encoded, every byte that could mean something."""

TAKES_NAME = [
    route
    for route in ROUTES
    if route.opt.get(AUTH) == "bearer" and "{" in route.template and not route.template.endswith("path}")
]
_CHANGES = {"name": "{}", "username": '{"disabled": false}'}
# No such thing is what is said of an id that nothing can have, too; a name no queue can have is said to be wrong.
MISSING = {
    "job_id": "job-not-found",
    "worker_id": "worker-not-found",
    "operation_id": "bulk-not-found",
    "token_id": "token-not-found",
    "username": "user-not-found",
    "session_id": "session-not-found",
}


@pytest.mark.parametrize("route", TAKES_NAME, ids=str)
async def test_a_name_made_of_signs_leads_nowhere_else(
    route: Route, client: Client, admin: dict[str, str], kept: str
) -> None:
    [*others, parameter] = [part[1:-1] for part in route.template.split("/") if part.startswith("{")]
    assert parameter in MISSING or parameter == "name"
    for name in NAMES:
        encoded = "".join(f"%{byte:02X}" for byte in name.encode())
        path = Route(route.method, route.template.replace(f"{{{parameter}}}", encoded), route.opt).path
        if others:
            path = path.replace("nobody", "admin")
        body = (
            '{"reason": "odd"}' if route.method == "POST" else _CHANGES[parameter] if route.method == "PATCH" else None
        )
        headers = admin | (JSON if body else {})
        answer = await client.request(route.method, path, content=body, headers=headers)
        if route.template.startswith(("/jobs", "/dlq")):
            assert answer.status_code in (400, 404), name
            assert answer.json()["error"], name
        elif parameter == "name":
            # `.` and `..` are names a queue may have; sent encoded they stay names.
            is_possible = name in (".", "..")
            assert is_problem(
                answer, 404 if is_possible else 400, "queue-not-found" if is_possible else "invalid-request"
            )
        else:
            assert is_problem(answer, 404, MISSING[parameter]), name


@pytest.mark.parametrize("name", NAMES)
async def test_a_type_a_tag_and_a_key_made_of_signs_are_found_again(
    name: str, client: Client, admin: dict[str, str]
) -> None:
    job = {"type": f"t{name}", "tags": [name], "unique_key": name}
    made = await client.post("/api/jobs", json=job, headers=admin)
    if name.isprintable():
        assert made.status_code == 201, made.text
    else:
        assert is_problem(made, 400, "invalid-request")
        assert (await client.get("/api/jobs", headers=admin)).json()["total"] == 0
        return

    for query in (f"type={quote(f't{name}', safe='')}", f"tag={quote(name, safe='')}"):
        found = (await client.get(f"/api/jobs?{query}", headers=admin)).json()
        assert [item["id"] for item in found["items"]] == [made.json()["id"]], query
    again = await client.post("/api/jobs", json=job, headers=admin)
    assert (again.status_code, again.json()["id"]) == (200, made.json()["id"])


@pytest.mark.parametrize("name", [".", "..", "-", "_", "a.b", "...", "%2e%2e"])
async def test_a_queue_named_by_dots_is_a_queue_like_any_other(
    name: str, client: Client, admin: dict[str, str]
) -> None:
    queue = name.replace("%2e", ".")
    made = await client.post("/api/jobs", json={"type": "echo", "queue": queue}, headers=admin)
    assert made.status_code == 201

    path = "/api/queues/" + queue.replace(".", "%2E")
    assert (await client.get(path, headers=admin)).json()["name"] == queue
    assert (await client.post(f"{path}/pause", headers=admin)).json()["paused"] is True
    assert (await client.get(f"{path}/jobs", headers=admin)).json()["total"] == 1


@pytest.mark.parametrize(
    "cursor", ["%00", "%FF%FE", "🎉", "..%2F..", "=" * 64, "A" * 4_000, base64.urlsafe_b64encode(b"\x00" * 40).decode()]
)
@pytest.mark.parametrize(
    "path",
    [
        str(route.path)
        for route in ROUTES
        if route.method == "GET"
        and route.template
        in (
            "/api/jobs",
            "/api/dlq",
            "/api/delayed",
            "/api/queues",
            "/api/workers",
            "/api/bulk",
            "/api/users",
            "/api/tokens",
            "/api/audit",
            "/api/dlq/groups",
        )
    ],
)
async def test_a_cursor_nobody_gave_out_is_refused(
    path: str, cursor: str, client: Client, admin: dict[str, str]
) -> None:
    answer = await client.get(f"{path}?cursor={cursor}", headers=admin)

    assert is_problem(answer, 400, "invalid-request")
    assert [error["field"] for error in answer.json()["errors"]] == ["cursor"]
