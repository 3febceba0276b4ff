"""Every route of the server against every kind of caller: generated, so that no route can be forgotten."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from leaseforge.store import Store
from leaseforge_api.app import create_app
from leaseforge_api.settings import ServerSettings
from leaseforge_auth import calls
from leaseforge_auth.cookies import session_cookie
from leaseforge_auth.csrf import SAFE_METHODS
from leaseforge_auth.guards import ANY_IDENTITY, AUDIT, AUTH, PERMISSION, PUBLIC
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import Role, permissions_of
from leaseforge_auth.sessions import Sessions
from tests.api.conftest import SECRET, Bearer, Client

MISSING_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Route:
    """One path and method, as declared."""

    method: str
    template: str
    opt: dict[str, Any]

    @property
    def path(self) -> str:
        filled = self.template
        for name, value in (
            ("job_id", MISSING_ID),
            ("name", "nowhere"),
            ("worker_id", "none"),
            ("token_id", "none"),
            ("operation_id", "none"),
            ("session_id", "none"),
            ("username", "nobody"),
            ("digest", "0"),
        ):
            filled = filled.replace(f"{{{name}}}", value)
        return filled.replace("{file_path}", "missing.css")

    @property
    def is_console(self) -> bool:
        return self.opt.get(AUTH) == "session"

    @property
    def is_stream(self) -> bool:
        return "/live/" in self.template or self.template == "/api/events"

    def is_open_to(self, role: Role) -> bool:
        wanted: tuple[Permission, ...] = self.opt.get(PERMISSION, ())
        return bool(self.opt.get(ANY_IDENTITY) or permissions_of([role]) & set(wanted))

    def __str__(self) -> str:
        return f"{self.method} {self.template}"


def declared_routes() -> Iterator[Route]:
    """All routes but the framework's own answers to OPTIONS."""
    settings = ServerSettings.read({"LEASEFORGE_AUTH_SECRET": SECRET})
    for route in create_app(settings).routes:
        assert isinstance(route, HTTPRoute), f"{route.path}: only HTTP routes are protected"
        for handler in route.route_handlers:
            assert isinstance(handler, HTTPRouteHandler)
            for method in handler.http_methods - {"OPTIONS"}:
                yield Route(method, route.path_format, dict(handler.opt))


ROUTES = sorted(declared_routes(), key=str)
CLOSED = [route for route in ROUTES if not route.opt.get(PUBLIC)]
API = [route for route in CLOSED if not route.is_console]
CONSOLE = [route for route in CLOSED if route.is_console]
PUBLIC_ROUTES = {
    "GET /",
    "GET /api/auth/config",
    "GET /api/auth/oidc/callback",
    "GET /api/auth/oidc/login",
    "POST /api/auth/login",
    "POST /api/auth/oidc/exchange",
    "GET /console/login",
    "POST /console/login",
    "GET /health",
    "GET /livez",
    "GET /metrics",
    "GET /ready",
}


TASKFORGE_PATHS = {"/enqueue", "/jobs/{job_id}", "/dlq", "/dlq/{job_id}/retry"}

NOT_AUDITED = {
    "POST /api/jobs",  # jobs speak for themselves, thousands a second
    "POST /api/jobs/bulk",
    "POST /enqueue",
    "POST /console/theme",  # cookies of the browser
    "POST /console/keys",
    "POST /console/jobs/new",
    "POST /console/jobs/{job_id}/edit",  # shows what would change
}


ENDS_ALL_TOKENS = {"POST /api/sessions/end-all"}
"""Whoever asks for this once is let in nowhere with the same login."""


@pytest.fixture
async def sessions(store: Store) -> Sessions:
    return Sessions(store, cookie=COOKIE, idle_s=600, absolute_s=600)


COOKIE = session_cookie(is_secure=False, root_path="", max_age_s=600)


async def session_header(sessions: Sessions, store: Store, role: Role) -> dict[str, str]:
    """What a browser of this role would send from one of our own pages."""
    account = await store.run(calls.read_account(role))
    assert account is not None
    opened = await sessions.create(account)
    assert opened is not None
    return {
        "Cookie": f"{COOKIE.name}={opened.id}",
        "X-CSRF-Token": opened.csrf_token,
        "Sec-Fetch-Site": "same-origin",
    }


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_route_declares_exactly_one_way_in(route: Route) -> None:
    ways = [bool(route.opt.get(way)) for way in (PERMISSION, ANY_IDENTITY, PUBLIC)]

    assert sum(ways) == 1
    assert set(route.opt.get(PERMISSION, ())) <= set(Permission)


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_path_is_under_the_credential_of_its_kind(route: Route) -> None:
    if route.template.startswith("/api") or route.template in TASKFORGE_PATHS:
        assert route.opt.get(AUTH) == "bearer"
    elif route.template.startswith("/console"):
        assert route.opt.get(AUTH) == "session"
    else:
        assert route.opt.get(PUBLIC)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.method not in SAFE_METHODS], ids=str)
def test_every_change_has_a_name_in_the_audit_trail(route: Route) -> None:
    assert bool(route.opt.get(AUDIT)) is (str(route) not in NOT_AUDITED)


def test_what_is_open_to_everybody_is_a_short_list_everybody_can_check() -> None:
    public = {str(route) for route in ROUTES if route.opt.get(PUBLIC) and not route.template.startswith("/static/")}

    assert public == PUBLIC_ROUTES


@pytest.mark.parametrize("route", API, ids=str)
async def test_the_api_lets_each_role_do_what_it_may(route: Route, client: Client, bearer: Bearer) -> None:
    method = "HEAD" if route.is_stream else route.method
    for role in Role:
        answers = [await client.request(method, route.path, headers=bearer(role))]
        if str(route) not in ENDS_ALL_TOKENS:
            answers.append(await client.request(method, route.path + "/", headers=bearer(role)))
        if route.method == "GET":
            answers.append(await client.request("HEAD", route.path, headers=bearer(role)))
        for answer in answers:
            assert (answer.status_code != 403) is route.is_open_to(role), f"{role}: {answer.status_code}"
            assert answer.status_code != 401


@pytest.mark.parametrize("route", API, ids=str)
async def test_the_api_lets_nobody_in_without_a_valid_token(route: Route, client: Client, bearer: Bearer) -> None:
    token = bearer(Role.ADMIN)["Authorization"]
    wrong = [
        "",
        "Bearer",
        "Bearer x",
        "Basic YWRtaW46YWRtaW4=",
        token[:-2],
        token.replace("Bearer", "Token"),
        token[7:],
    ]

    for path in (route.path, route.path + "/"):
        for value in wrong:
            answer = await client.request(route.method, path, headers={"Authorization": value})
            assert answer.status_code == 401, value
            assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (await client.request(route.method, route.path)).status_code == 401


@pytest.mark.parametrize("route", API, ids=str)
async def test_a_session_cookie_opens_nothing_of_the_api(
    route: Route, client: Client, sessions: Sessions, bearer: Bearer, store: Store
) -> None:
    cookie = await session_header(sessions, store, Role.ADMIN)

    answer = await client.request(route.method, route.path, headers=cookie)

    assert answer.status_code == 401


@pytest.mark.parametrize("route", CONSOLE, ids=str)
async def test_the_console_lets_each_role_do_what_it_may(
    route: Route, client: Client, sessions: Sessions, bearer: Bearer, store: Store
) -> None:
    # A stream never ends; the answer to HEAD is its beginning.
    method = "HEAD" if route.is_stream else route.method
    for role in Role:
        headers = await session_header(sessions, store, role)
        answer = await client.request(method, route.path, headers=headers, follow_redirects=False)

        assert (answer.status_code != 403) is route.is_open_to(role), f"{role}: {answer.status_code}"
        assert answer.status_code < 500


@pytest.mark.parametrize("route", CONSOLE, ids=str)
async def test_the_console_leads_everybody_else_to_the_login_page(
    route: Route, client: Client, admin: dict[str, str]
) -> None:
    headers = {"Sec-Fetch-Site": "same-origin"}
    for credential in ({}, admin, {"Cookie": "leaseforge=" + "x" * 43}):
        answer = await client.request(route.method, route.path, headers=headers | credential, follow_redirects=False)

        assert answer.status_code in (302, 303)
        assert answer.headers["location"].startswith("/console/login")


@pytest.mark.parametrize("route", [route for route in ROUTES if route.is_console and route.method != "GET"], ids=str)
async def test_other_sites_change_nothing_through_a_browser(
    route: Route, client: Client, sessions: Sessions, bearer: Bearer, store: Store
) -> None:
    own = await session_header(sessions, store, Role.ADMIN)
    without_token = {name: value for name, value in own.items() if name != "X-CSRF-Token"}
    elsewhere = [
        own | {"Sec-Fetch-Site": "cross-site"},
        own | {"Sec-Fetch-Site": "same-site"},
        {name: value for name, value in own.items() if name != "Sec-Fetch-Site"},
    ]
    if not route.opt.get(PUBLIC):
        elsewhere += [without_token, own | {"X-CSRF-Token": "0" * 64}]

    for headers in elsewhere:
        answer = await client.request(route.method, route.path, headers=headers, follow_redirects=False)
        assert answer.status_code == 403, headers


@pytest.mark.parametrize("route", ROUTES, ids=str)
async def test_options_tells_the_methods_and_nothing_else(route: Route, client: Client) -> None:
    answer = await client.request("OPTIONS", route.path)

    assert answer.status_code == 204
    assert answer.content == b""
    methods = set(answer.headers["allow"].split(", "))
    assert route.method in methods
    assert ("HEAD" in methods) is ("GET" in methods)


@pytest.mark.parametrize("route", ROUTES, ids=str)
async def test_methods_a_path_does_not_have_are_refused_with_the_list_of_those_it_has(
    route: Route, client: Client, admin: dict[str, str]
) -> None:
    allowed = set((await client.request("OPTIONS", route.path)).headers["allow"].split(", "))

    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - allowed:
        answer = await client.request(method, route.path, headers=admin | {"X-HTTP-Method-Override": "GET"})
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == allowed


async def test_an_encoded_slash_leads_to_no_other_route(client: Client, bearer: Bearer) -> None:
    answer = await client.post("/api/queues/nowhere%2fpurge", headers=bearer(Role.VIEWER))

    assert answer.status_code in (403, 404, 405)


async def test_the_application_is_not_in_debug_mode(app: Litestar) -> None:
    assert app.debug is False
