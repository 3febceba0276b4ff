"""What holds for every answer: request id, security headers, HEAD, the path prefix."""

import re

import pytest

from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.conftest import PASSWORD, Bearer, Client, serving

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
)
PLACES = [
    ("GET", "/"),
    ("GET", "/livez"),
    ("GET", "/metrics"),
    ("GET", "/console"),
    ("GET", "/console/login"),
    ("POST", "/console/login"),
    ("GET", "/console/nowhere"),
    ("GET", "/static/0/nothing.css"),
    ("GET", "/api/auth/config"),
    ("GET", "/api/queues"),
    ("GET", "/nowhere"),
    ("PUT", "/api/queues"),
    ("OPTIONS", "/api/queues"),
    ("HEAD", "/api/auth/config"),
    ("POST", "/api/auth/login"),
]


async def test_one_page_may_draw_images_that_are_in_its_style_sheet(client: Client) -> None:
    assert (await client.get("/console/api/")).headers["content-security-policy"] == CSP.replace(
        "img-src 'self'", "img-src 'self' data:"
    )


@pytest.mark.parametrize(("method", "path"), PLACES)
async def test_every_answer_carries_the_security_headers(method: str, path: str, client: Client) -> None:
    headers = (await client.request(method, path, follow_redirects=False)).headers

    assert headers["content-security-policy"] == CSP
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "no-store" in headers["cache-control"]
    assert "strict-transport-security" not in headers
    assert "server" not in headers
    assert re.fullmatch(r"[0-9a-f]{32}", headers["x-request-id"])


async def test_behind_https_browsers_are_told_to_stay_there(store: Store) -> None:
    async with serving(store, WEB_URL="https://jobs.example.com") as secure:
        headers = (await secure.get("/livez")).headers

        assert headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("client-7.a_b", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("a b", False),
        ('"><script>', False),
        ("", False),
    ],
)
async def test_a_callers_request_id_is_kept_when_it_is_harmless(sent: str, kept: bool, client: Client) -> None:
    answer = await client.get("/nowhere", headers={"X-Request-Id": sent})

    assert (answer.headers["x-request-id"] == sent) is kept
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "path", ["/", "/livez", "/metrics", "/api/queues", "/api/jobs/x", "/nowhere", "/console/login"]
)
async def test_head_is_get_without_the_body(path: str, client: Client, admin: dict[str, str]) -> None:
    got = await client.get(path, headers=admin, follow_redirects=False)
    head = await client.head(path, headers=admin, follow_redirects=False)

    assert head.status_code == got.status_code
    assert head.content == b""
    assert head.headers.get("content-type") == got.headers.get("content-type")


async def test_an_error_is_one_document_with_all_its_parts(client: Client) -> None:
    answer = await client.get("/api/nowhere")

    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:leaseforge:problem:not-found",
        "title": "Not Found",
        "status": 404,
        "detail": "nothing is served at this path",
        "instance": "/api/nowhere",
        "request_id": answer.headers["x-request-id"],
        "errors": [],
    }


async def test_a_fault_of_ours_tells_the_caller_nothing_but_where_it_is_logged(
    client: Client, admin: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the database password is hunter2")

    monkeypatch.setattr("leaseforge_api.routes.queues.queue", broken)
    await client.post("/api/jobs", json={"type": "echo"}, headers=admin)

    answer = await client.get("/api/queues", headers=admin)

    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:leaseforge:problem:internal-error"
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("prefix", ["/jobs", ""], ids=["kept by the proxy", "stripped by the proxy"])
async def test_everything_is_served_under_the_path_prefix(
    prefix: str, store: Store, bearer: Bearer, accounts_by_role: object
) -> None:
    async with serving(store, ROOT_PATH="/jobs") as prefixed:
        home = await prefixed.get(f"{prefix}/", follow_redirects=False)
        login = await prefixed.post(f"{prefix}/api/auth/login", json={"username": "admin", "password": PASSWORD})
        job = await prefixed.post(f"{prefix}/api/jobs", json={"type": "echo"}, headers=bearer(Role.ADMIN))

        assert home.headers["location"] == "/jobs/console"
        assert login.status_code == 200
        assert job.headers["location"] == f"/jobs/api/jobs/{job.json()['id']}"


async def test_a_path_that_only_begins_like_the_prefix_is_another_one(store: Store) -> None:
    async with serving(store, ROOT_PATH="/jobs") as prefixed:
        assert (await prefixed.get("/jobsx/livez")).status_code == 404
        # Below the prefix this is TaskForge's address of a job, which asks who wants to know.
        assert (await prefixed.get("/jobs/jobs/livez")).status_code == 401


async def test_a_session_over_plain_http_is_for_this_machine_only(client: Client) -> None:
    answer = await client.get("/console", headers={"Host": "jobs.example.com"}, follow_redirects=False)

    assert answer.status_code in (302, 303)
