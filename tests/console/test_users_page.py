import html
import re
from collections.abc import Callable
from typing import Any

import pytest

from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.audit.entries import Entry
from leaseforge_auth.audit.search import Filter, search
from leaseforge_auth.roles import Role
from tests.console.browsing import Visitor, words
from tests.console.conftest import PASSWORD, PASSWORD_HASH

_SECRET = re.compile(r'<code id="secret"[^>]*>([^<]+)</code>')


@pytest.fixture
async def admin(visit: Callable[[Role], Any], store: Store) -> Visitor:
    """An administrator of the settings; beside them ada, an operator, and grace, another administrator."""
    for name, role in (("ada", Role.OPERATOR), ("grace", Role.ADMIN)):
        await store.run(calls.create_account(name, password_hash=PASSWORD_HASH, roles=[role], origin="api"))
    visitor: Visitor = await visit(Role.ADMIN)
    await visitor.get("/console/users")
    return visitor


@pytest.fixture
def log_in(another: Callable[[], Visitor]) -> Callable[..., Any]:
    """Logs somebody in, in a browser of their own; how the form answers."""

    async def send(username: str, password: str = PASSWORD) -> int:
        return (await another().post("/console/login", username=username, password=password)).status_code

    return send


async def roles_of(store: Store, username: str) -> tuple[Role, ...]:
    account = await store.run(calls.read_account(username))
    assert account is not None
    return account.roles


async def audited(store: Store, action: str) -> list[Entry]:
    found = await search(store, Filter(action=action), before=None, limit=50)
    return [row.entry for row in found.rows if row.entry]


async def test_users_are_listed_by_name_with_what_they_are(admin: Visitor, store: Store) -> None:
    await store.run(calls.change_account("ada", disabled=True))

    told = words((await admin.get("/console/users")).text)

    assert "3 users." in told
    assert "ada disabled operator an administrator" in told
    assert "admin enabled admin the server's settings" in told
    assert told.index("ada disabled") < told.index("admin enabled") < told.index("grace enabled")


async def test_many_users_come_in_pages(admin: Visitor, store: Store) -> None:
    for number in range(60):
        await store.run(calls.create_account(f"u{number:02}", password_hash="", roles=[], origin="oidc"))

    first = (await admin.get("/console/users")).text
    second = (await admin.get("/console/users?offset=50")).text

    assert "1\N{EN DASH}50 of 63" in first
    assert "51\N{EN DASH}63 of 63" in second
    assert 'href="/console/users?offset=50" rel="next"' in first
    assert len(first) < 100_000
    assert "none of 63" in words((await admin.get("/console/users?offset=999999999999")).text)


async def test_a_new_user_logs_in_with_the_password_that_was_shown(
    admin: Visitor, log_in: Callable[..., Any], store: Store
) -> None:
    await admin.get("/console/new-user")

    made = await admin.post("/console/new-user", username="new", roles="operator", reason="joins the team")

    [password] = _SECRET.findall(made.text)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    assert password not in str(made.headers)
    assert await log_in("new", html.unescape(password)) == 303
    assert await roles_of(store, "new") == (Role.OPERATOR,)
    assert password not in (await admin.get("/console/users/new")).text
    [entry] = await audited(store, "user.create")
    assert (entry.reason, entry.detail) == ("joins the team", {"username": "new", "roles": ["operator"]})


@pytest.mark.parametrize(
    ("fields", "status", "problem"),
    [
        ({"username": ""}, 422, "Must be 1 to 64 of"),
        ({"username": "a b"}, 422, "Must be 1 to 64 of"),
        ({"username": "ada", "roles": "viewer"}, 409, "There is a user ada already."),
        ({"username": "x", "roles": "king"}, 400, "That cannot be right"),
    ],
)
async def test_a_user_that_cannot_be_made_is_told(
    admin: Visitor, store: Store, fields: dict[str, str], status: int, problem: str
) -> None:
    answer = await admin.post("/console/new-user", fields)

    assert answer.status_code == status
    assert problem in words(answer.text)
    assert not _SECRET.search(answer.text)
    assert await store.run(calls.count_accounts()) == 3


async def test_a_user_has_a_page_with_roles_sessions_and_tokens(
    admin: Visitor, log_in: Callable[..., Any], store: Store
) -> None:
    assert await log_in("ada") == 303

    page = (await admin.get("/console/users/ada")).text
    told = words(page)

    assert "ada enabled" in told
    assert "No browser is logged in" not in told
    assert "There is no API token" in told
    assert re.search(r'value="operator"\s+checked', page)
    [path] = re.findall(r'action="(/console/users/ada/sessions/[0-9a-f]{16}/end)"', page)
    assert (await admin.post(path)).headers["location"] == "/console/users/ada"
    assert "No browser is logged in" in words((await admin.get("/console/users/ada")).text)
    assert (await admin.post(path)).status_code == 404


async def test_other_roles_are_given_and_written_down(admin: Visitor, store: Store) -> None:
    await admin.get("/console/users/ada")

    answer = await admin.post("/console/users/ada/roles", roles="viewer", reason="moved on")

    assert answer.headers["location"] == "/console/users/ada"
    assert "ada is viewer now" in words((await admin.get("/console/users/ada")).text)
    assert await roles_of(store, "ada") == (Role.VIEWER,)
    [entry] = await audited(store, "user.change")
    assert entry.detail == {"before": {"roles": ["operator"]}, "after": {"roles": ["viewer"]}}
    await admin.post("/console/users/ada/roles")
    assert await roles_of(store, "ada") == ()


async def test_a_disabled_user_is_kept_out_until_enabled(
    admin: Visitor, log_in: Callable[..., Any], store: Store
) -> None:
    assert "nobody can log in with it" in words((await admin.get("/console/users/ada/disable")).text)

    answer = await admin.post("/console/users/ada/disable")

    assert answer.headers["location"] == "/console/users/ada"
    assert await log_in("ada") == 401
    assert 'action="/console/users/ada/enable"' in (await admin.get("/console/users/ada")).text
    await admin.post("/console/users/ada/enable")
    assert await log_in("ada") == 303


async def test_a_new_password_is_made_and_shown_once(admin: Visitor, log_in: Callable[..., Any]) -> None:
    assert "shown to you once" in words((await admin.get("/console/users/ada/password")).text)

    answer = await admin.post("/console/users/ada/password")

    [password] = _SECRET.findall(answer.text)
    assert "location" not in answer.headers
    assert await log_in("ada") == 401
    assert await log_in("ada", html.unescape(password)) == 303
    assert password not in (await admin.get("/console/users/ada")).text


async def test_a_user_is_logged_out_everywhere(admin: Visitor, log_in: Callable[..., Any], store: Store) -> None:
    await log_in("ada")
    assert "all its browser sessions" in words((await admin.get("/console/users/ada/logout")).text)

    await admin.post("/console/users/ada/logout", reason="laptop stolen")

    assert "No browser is logged in" in words((await admin.get("/console/users/ada")).text)
    [entry] = await audited(store, "user.logout")
    assert (entry.target, entry.reason) == ("ada", "laptop stolen")


async def test_a_user_is_deleted_once_its_name_is_typed(admin: Visitor, store: Store) -> None:
    assert "Type ada to confirm" in words((await admin.get("/console/users/ada/delete")).text)

    wrong = await admin.post("/console/users/ada/delete", word="adda", htmx=True)
    assert (wrong.status_code, wrong.headers["hx-retarget"]) == (422, "#confirm")
    assert "Type ada to confirm." in words(wrong.text)
    assert await store.run(calls.read_account("ada")) is not None

    right = await admin.post("/console/users/ada/delete", word="ada")
    assert right.headers["location"] == "/console/users"
    assert "Deleted ada." in words((await admin.get("/console/users")).text)
    assert (await admin.get("/console/users/ada")).status_code == 404
    assert [entry.result for entry in await audited(store, "user.delete")] == ["ok", "refused"]


async def test_the_last_administrator_stays_and_is_told_why(admin: Visitor, store: Store) -> None:
    # The administrator of the settings is disabled, so that grace is the last one; her browser goes on.
    for path, fields in (("/console/users/grace/roles", {"roles": "admin"}), ("/console/users/admin/disable", {})):
        await admin.post(path, fields)
    admin.client.cookies.clear()
    assert (await admin.post("/console/login", username="grace", password=PASSWORD)).status_code == 303
    await admin.get("/console/users/grace")

    roles = await admin.post("/console/users/grace/roles", roles="viewer")
    disabled = await admin.post("/console/users/grace/disable")
    deleted = await admin.post("/console/users/grace/delete", word="grace")

    assert [answer.status_code for answer in (roles, disabled, deleted)] == [409, 409, 409]
    for answer in (roles, disabled, deleted):
        assert "make another one first" in words(answer.text)
    assert await roles_of(store, "grace") == (Role.ADMIN,)
    assert (await admin.get("/console/users")).status_code == 200


async def test_what_the_settings_say_is_not_offered_to_be_changed(admin: Visitor, store: Store) -> None:
    page = (await admin.get("/console/users/admin")).text

    assert "comes from the server's settings" in words(page)
    assert "/console/users/admin/password" not in page
    assert "/console/users/admin/delete" not in page
    for path, fields in (("roles", {"roles": "viewer"}), ("password", {}), ("delete", {"word": "admin"})):
        answer = await admin.post(f"/console/users/admin/{path}", fields)
        assert answer.status_code == 409
        assert "Set by the server's settings" in words(answer.text)
    assert await roles_of(store, "admin") == (Role.ADMIN,)


@pytest.mark.parametrize("path", ["", "/disable", "/password", "/logout", "/delete"])
async def test_nobody_of_this_name_is_a_page_that_says_so(admin: Visitor, path: str) -> None:
    for name in ("nobody", "a%20b", "%3Cb%3E"):
        answer = await admin.get(f"/console/users/{name}{path}")
        assert answer.status_code == 404
        assert "No such user" in words(answer.text)


async def test_all_tokens_are_listed_and_any_can_be_revoked(admin: Visitor) -> None:
    for name, kind in (("billing", "service"), ("laptop", "personal")):
        fields = {"name": name, "kind": kind, "role": "producer", "lifetime": "604800"}
        assert (await admin.post("/console/account/tokens/new", fields)).status_code == 201

    page = (await admin.get("/console/tokens")).text
    assert "2 API tokens." in words(page)
    paths = [html.unescape(path) for path in re.findall(r'href="(/console/tokens/[0-9a-f]{16}/revoke[^"]*)"', page)]
    assert len(paths) == 2
    asked = (await admin.get(paths[0])).text
    assert "Revoke “laptop”?" in words(asked)
    [target] = re.findall(r'action="(/console/tokens/[^"]+/revoke[^"]*)"', asked)

    answer = await admin.post(html.unescape(target))

    assert answer.headers["location"] == "/console/tokens"
    assert "1 API token." in words((await admin.get("/console/tokens")).text)
    assert (await admin.get(paths[0])).status_code == 404
    assert (await admin.post(html.unescape(target))).status_code == 404


async def test_operators_find_neither_users_nor_tokens(visit: Callable[[Role], Any]) -> None:
    operator: Visitor = await visit(Role.OPERATOR)

    assert 'href="/console/users"' not in (await operator.get("/console")).text
    for path in ("/console/users", "/console/users/operator", "/console/new-user", "/console/tokens"):
        assert (await operator.get(path)).status_code == 403
