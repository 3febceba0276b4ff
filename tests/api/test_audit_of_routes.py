"""Every route that changes something leaves one action in the audit trail: generated from the table of routes."""

import json
from typing import Any

import pytest
from httpx import Response

from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.audit.calls import read_on
from leaseforge_auth.audit.entries import Entry, Result, Step, decode
from leaseforge_auth.csrf import FORM_FIELD
from leaseforge_auth.guards import AUDIT, PUBLIC
from leaseforge_auth.roles import Role
from leaseforge_auth.sessions import Sessions
from tests.api.conftest import PASSWORD, Bearer, Client
from tests.api.test_routes import COOKIE, ENDS_ALL_TOKENS, ROUTES, Route, session_header

AUDITED = [route for route in ROUTES if AUDIT in route.opt and route.method != "GET"]
CLOSED = [route for route in AUDITED if not route.opt.get(PUBLIC)]
OPEN = [route for route in AUDITED if route.opt.get(PUBLIC)]
LOGINS = [route for route in AUDITED if route.opt.get(PUBLIC) and route.opt[AUDIT] == "login"]
LEADS_BACK = {"POST /console/views/{view_id}/rename"}
"""Refuse by leading back to the page that was on the screen, with a message."""


def result_of(route: Route, answer: Response) -> Result:
    """What the trail has to call it, of requests without a body that the route could act on."""
    return Result.OK if answer.status_code < 400 and str(route) not in LEADS_BACK else Result.REFUSED


@pytest.fixture
async def sessions(store: Store) -> Sessions:
    return Sessions(store, cookie=COOKIE, idle_s=600, absolute_s=600)


async def entries(store: Store) -> list[Entry]:
    return [decode(stored.body) for stored in (await store.run(read_on(0))).entries]


async def credential(route: Route, role: Role, sessions: Sessions, store: Store, bearer: Bearer) -> dict[str, str]:
    return await session_header(sessions, store, role) if route.is_console else bearer(role)


async def test_there_is_something_to_walk() -> None:
    assert len(CLOSED) > 15
    assert len(LOGINS) == 2


@pytest.mark.parametrize("route", CLOSED, ids=str)
async def test_what_an_administrator_does_is_a_pair_of_entries(
    route: Route, client: Client, store: Store, sessions: Sessions, bearer: Bearer
) -> None:
    headers = await credential(route, Role.ADMIN, sessions, store, bearer)

    answer = await client.request(route.method, route.path, headers=headers, follow_redirects=False)

    intent, outcome = await entries(store)
    assert (intent.step, outcome.step) == (Step.INTENT, Step.OUTCOME)
    assert intent.id == outcome.id == answer.headers["x-audit-id"]
    assert intent.action == outcome.action == route.opt[AUDIT]
    assert intent.user == outcome.user == "admin"
    assert outcome.status == answer.status_code
    assert outcome.began_at_ms == intent.at_ms
    assert outcome.result is result_of(route, answer)


@pytest.mark.parametrize("route", CLOSED, ids=str)
async def test_what_a_role_may_not_do_is_a_pair_of_entries_too(
    route: Route, client: Client, store: Store, sessions: Sessions, bearer: Bearer
) -> None:
    for role in (role for role in Role if not route.is_open_to(role)):
        before = len(await entries(store))
        headers = await credential(route, role, sessions, store, bearer)

        answer = await client.request(route.method, route.path, headers=headers, follow_redirects=False)

        assert answer.status_code == 403
        intent, outcome = (await entries(store))[before:]
        assert (intent.step, outcome.step, outcome.result) == (Step.INTENT, Step.OUTCOME, Result.REFUSED)
        assert outcome.user == role


BAD_BODIES = {
    "not JSON": ("application/json", b"{"),
    "not an object": ("application/json", b"[1]"),
    "an unknown field": ("application/json", b'{"no_such_field": 1}'),
    "not UTF-8": ("application/json", b'{"reason": "\xff"}'),
    "too deep": ("application/json", b"[" * 100_000),
    "too large": ("application/json", b'{"reason": "' + b"a" * (1200 * 1024) + b'"}'),
    "not a known type": ("text/plain", b"x"),
    "a broken form": ("application/x-www-form-urlencoded", b"reason=%ff&%=&=&&reason=again"),
    "too large a form": ("application/x-www-form-urlencoded", b"reason=" + b"a" * (1200 * 1024)),
}


@pytest.mark.parametrize("route", CLOSED, ids=str)
async def test_a_body_that_is_refused_leaves_a_pair_of_entries(
    route: Route, client: Client, store: Store, sessions: Sessions, bearer: Bearer
) -> None:
    for fault, (kind, body) in BAD_BODIES.items():
        if str(route) in ENDS_ALL_TOKENS and "too large" not in fault:
            continue  # it needs no body, and does what it is there for whatever is sent
        before = len(await entries(store))
        # Anew for each: a logout, too, needs no body.
        headers = await credential(route, Role.ADMIN, sessions, store, bearer) | {"Content-Type": kind}

        answer = await client.request(route.method, route.path, headers=headers, content=body, follow_redirects=False)

        assert answer.status_code not in (401, *range(500, 600)), f"{fault}: {answer.text}"
        intent, outcome = (await entries(store))[before:]
        assert (intent.step, outcome.step) == (Step.INTENT, Step.OUTCOME), fault
        assert (intent.user, intent.roles, outcome.roles) == ("admin", ("admin",), ("admin",)), fault
        assert (outcome.status, outcome.result) == (answer.status_code, result_of(route, answer)), fault


@pytest.mark.parametrize("route", OPEN, ids=str)
async def test_a_stranger_whose_body_is_refused_cannot_write_into_the_trail(
    route: Route, client: Client, store: Store
) -> None:
    for kind, body in BAD_BODIES.values():
        headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": kind}

        answer = await client.request(route.method, route.path, headers=headers, content=body, follow_redirects=False)

        assert answer.status_code < 500
        assert await entries(store) == []


@pytest.mark.parametrize("route", CLOSED, ids=str)
async def test_strangers_cannot_write_into_the_trail(route: Route, client: Client, store: Store) -> None:
    await client.request(route.method, route.path, headers={"Sec-Fetch-Site": "same-origin"})

    assert await entries(store) == []


@pytest.mark.parametrize("route", LOGINS, ids=str)
@pytest.mark.parametrize(("password", "result"), [(PASSWORD, Result.OK), ("wrong", Result.REFUSED)])
async def test_a_login_is_a_pair_of_entries(
    route: Route,
    client: Client,
    store: Store,
    accounts_by_role: dict[Role, calls.Account],
    password: str,
    result: Result,
) -> None:
    sent = {"username": "viewer", "password": password}
    if route.is_console:
        body: dict[str, Any] = {"data": sent | {FORM_FIELD: ""}}
    else:
        body = {"content": json.dumps(sent)}
    kind = "application/x-www-form-urlencoded" if route.is_console else "application/json"

    await client.request(
        route.method, route.path, headers={"Sec-Fetch-Site": "same-origin", "Content-Type": kind}, **body
    )

    intent, outcome = await entries(store)
    assert (intent.action, outcome.action, outcome.result) == ("login", "login", result)
    assert intent.user == "viewer"
