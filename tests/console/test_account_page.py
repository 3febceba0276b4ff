import re
from collections.abc import Callable
from typing import Any

import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import calls, keys
from leaseforge_auth.audit.entries import Result
from leaseforge_auth.audit.search import Filter, search
from leaseforge_auth.permissions import Permission
from leaseforge_auth.roles import ALLOWED, Role
from leaseforge_console.views import credentials
from leaseforge_console.views.permissions import ROLES, WORDS, in_words
from tests.console.browsing import Visitor, words
from tests.console.conftest import PASSWORD, PASSWORD_HASH

NEW = "another long password"
_TOKEN = re.compile(r"lf_[0-9a-f]{16}_[A-Za-z0-9_-]{43}")


@pytest.fixture
async def ada(stranger: Visitor, store: Store) -> Visitor:
    """Somebody with an account of her own, not one of the settings'."""
    made = calls.create_account("ada", password_hash=PASSWORD_HASH, roles=[Role.OPERATOR], origin="api")
    await store.run(made)
    return await logged_in(stranger)


async def logged_in(visitor: Visitor, password: str = PASSWORD) -> Visitor:
    answer = await visitor.post("/console/login", username="ada", password=password)
    assert answer.status_code == 303, words(answer.text)
    await visitor.get("/console/account")
    return visitor


async def bearer(visitor: Visitor, token: str) -> int:
    headers = {"authorization": f"Bearer {token}"}
    return (await visitor.client.get("/api/queues", headers=headers)).status_code


async def results(store: Store, action: str) -> list[Result]:
    found = await search(store, Filter(action=action), before=None, limit=10)
    return [row.entry.result for row in found.rows if row.entry]


async def test_the_page_says_who_one_is_and_what_one_may(ada: Visitor) -> None:
    told = words((await ada.get("/console/account")).text)

    assert "ada · made by an administrator" in told
    assert "operator Is on call" in told
    assert "Queues see them; pause, resume, purge, set limits" in told
    assert "Users" not in told.partition("What you may do")[2].partition("Password")[0]
    assert "this one" in told
    assert "There is no API token" in told


async def test_somebody_without_a_role_is_told_so(ada: Visitor, store: Store) -> None:
    await store.run(calls.change_account("ada", roles=[]))
    await logged_in(ada)

    answer = await ada.get("/console/account")

    assert answer.status_code == 200
    assert "You have no role yet" in words(answer.text)
    assert 'href="/console/queues"' not in answer.text


async def test_another_browser_can_be_logged_out(ada: Visitor, another: Callable[[], Visitor], store: Store) -> None:
    away = await logged_in(another())
    page = (await ada.get("/console/account")).text
    ends = re.findall(r'action="(/console/account/sessions/[0-9a-f]{16}/end)"', page)
    assert len(ends) == 2
    rows = re.findall(r'<tr id="session-([0-9a-f]{16})">(.*?)</tr>', page, re.DOTALL)
    [other] = [session for session, row in rows if "this one" not in row]

    answer = await ada.post(f"/console/account/sessions/{other}/end")

    assert answer.headers["location"] == "/console/account"
    assert "Ended the session" in words((await ada.get("/console/account")).text)
    assert (await away.get("/console/account")).status_code == 303
    assert (await ada.post(f"/console/account/sessions/{other}/end")).status_code == 404
    assert await results(store, "session.revoke") == [Result.REFUSED, Result.OK]


async def test_ending_the_session_in_use_is_a_logout(ada: Visitor) -> None:
    page = (await ada.get("/console/account")).text
    [path] = re.findall(r'action="(/console/account/sessions/[0-9a-f]{16}/end)"', page)

    answer = await ada.post(path, htmx=True)

    assert answer.headers["hx-redirect"] == "/console/login"
    assert (await ada.get("/console/account")).headers["location"].startswith("/console/login")


async def test_a_session_of_somebody_else_is_out_of_reach(
    ada: Visitor, another: Callable[[], Visitor], store: Store
) -> None:
    await store.run(calls.create_account("bob", password_hash=PASSWORD_HASH, roles=[Role.VIEWER], origin="api"))
    bob = another()
    await bob.post("/console/login", username="bob", password=PASSWORD)
    page = (await bob.get("/console/account")).text
    [path] = re.findall(r'action="(/console/account/sessions/[0-9a-f]{16}/end)"', page)

    assert (await ada.post(path)).status_code == 404
    assert (await bob.get("/console/account")).status_code == 200


async def test_logging_out_everywhere_ends_sessions_and_personal_tokens(
    ada: Visitor, another: Callable[[], Visitor]
) -> None:
    away = await logged_in(another())
    made = await ada.post("/console/account/tokens/new", name="laptop", role="operator", lifetime="2592000")
    [token] = set(_TOKEN.findall(made.text))
    assert await bearer(ada, token) == 200
    assert "this one too" in words((await ada.get("/console/account/logout")).text)

    answer = await ada.post("/console/account/logout", reason="lost my bag")

    assert answer.headers["location"] == "/console/login"
    assert (await ada.get("/console/account")).status_code == 303
    assert (await away.get("/console/account")).status_code == 303
    assert await bearer(ada, token) == 401


async def test_a_new_password_keeps_this_browser_and_ends_the_others(
    ada: Visitor, another: Callable[[], Visitor], store: Store
) -> None:
    away = await logged_in(another())

    answer = await ada.post("/console/account/password", current=PASSWORD, new=NEW, again=NEW)

    assert (answer.status_code, answer.headers["location"]) == (303, "/console/account")
    assert "Changed your password." in words((await ada.get("/console/account")).text)
    assert (await away.get("/console/account")).status_code == 303
    assert (await away.post("/console/login", username="ada", password=PASSWORD)).status_code == 401
    await logged_in(away, NEW)
    assert await results(store, "password.change") == [Result.OK]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"current": "wrong", "new": NEW, "again": NEW}, "Is not your password."),
        ({"current": PASSWORD, "new": NEW, "again": NEW + "x"}, "Is not the same as the new password."),
        ({"current": PASSWORD, "new": "short", "again": "short"}, "Must be 8 characters"),
        ({}, "Is not your password."),
    ],
)
async def test_a_password_that_will_not_do_is_told_and_nothing_changes(
    ada: Visitor, store: Store, fields: dict[str, str], problem: str
) -> None:
    before = await store.run(calls.read_account("ada"))

    answer = await ada.post("/console/account/password", fields)

    assert answer.status_code == 422
    assert problem in words(answer.text)
    assert NEW not in answer.text
    assert await store.run(calls.read_account("ada")) == before
    assert await results(store, "password.change") == [Result.REFUSED]


async def test_guessing_the_password_through_the_form_is_slowed_down(ada: Visitor) -> None:
    for _ in range(12):
        answer = await ada.post("/console/account/password", current="wrong", new=NEW, again=NEW)

    assert answer.status_code == 429
    assert "Try again in" in words(answer.text)


@pytest.mark.parametrize(
    ("origin", "hashed", "words_"),
    [("oidc", "", "You log in by single sign-on"), ("settings", PASSWORD_HASH, "comes from the server's settings")],
)
async def test_who_has_no_password_here_is_told_why(
    operator: Visitor, store: Store, redis_url: str, origin: str, hashed: str, words_: str
) -> None:
    with redis.Redis.from_url(redis_url) as raw:
        raw.hset(keys.account("operator"), mapping={"origin": origin, "password": hashed})

    page = (await operator.get("/console/account")).text

    assert words_ in words(page)
    assert "/account/password" not in page


async def test_a_token_is_shown_once_and_works(ada: Visitor, store: Store) -> None:
    form = words((await ada.get("/console/account/tokens/new")).text)
    assert "operator Is on call" in form
    assert "admin Runs the place" not in form

    made = await ada.post("/console/account/tokens/new", name="my <laptop>", role="operator", lifetime="604800")

    [token] = set(_TOKEN.findall(made.text))
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    assert "location" not in made.headers
    assert token not in str(made.headers)
    assert await bearer(ada, token) == 200
    listed = await ada.get("/console/account")
    assert "my <laptop>" in words(listed.text)
    assert token not in listed.text
    found = await search(store, Filter(action="token.create"), before=None, limit=10)
    assert token not in str(found)


async def test_a_token_of_single_permissions_may_do_these_only(ada: Visitor) -> None:
    await ada.get("/console/account/tokens/new")
    data = {
        "_csrf": ada.token,
        "name": "reports",
        "role": "",
        "permissions": ["metrics:read", "jobs:read"],
        "lifetime": "604800",
    }

    made = await ada.client.post("/console/account/tokens/new", data=data, headers={"sec-fetch-site": "same-origin"})

    [token] = set(_TOKEN.findall(made.text))
    assert await bearer(ada, token) == 403
    assert "jobs:read, metrics:read" in words((await ada.get("/console/account")).text)


@pytest.mark.parametrize(
    ("fields", "status", "problem"),
    [
        ({"name": "", "role": "viewer", "lifetime": "604800"}, 422, "Must be 1 to 64 printable characters"),
        ({"name": "x", "lifetime": "604800"}, 422, "Say what the token may do"),
        ({"name": "x", "role": "viewer", "lifetime": "1"}, 422, "Choose one of these"),
        ({"name": "x", "role": "viewer", "lifetime": "never"}, 422, "Only a service token"),
        ({"name": "x", "role": "admin", "lifetime": "604800"}, 403, "Not for your role"),
        ({"name": "x", "role": "viewer", "kind": "service", "lifetime": "604800"}, 403, "Not for your role"),
        ({"name": "x", "role": "king", "lifetime": "604800"}, 400, "That cannot be right"),
        ({"name": "x" * 2_000, "role": "viewer", "lifetime": "604800"}, 400, "That cannot be right"),
    ],
)
async def test_a_token_that_cannot_be_made_is_told_and_what_was_typed_stays(
    ada: Visitor, fields: dict[str, str], status: int, problem: str
) -> None:
    await ada.get("/console/account/tokens/new")

    answer = await ada.post("/console/account/tokens/new", fields)

    assert answer.status_code == status
    assert problem in words(answer.text)
    assert not _TOKEN.search(answer.text)
    assert "There is no API token" in words((await ada.get("/console/account")).text)


async def test_an_administrator_makes_service_tokens_of_different_names(visit: Callable[[Role], Any]) -> None:
    admin: Visitor = await visit(Role.ADMIN)
    assert "Stands for itself" in words((await admin.get("/console/account/tokens/new")).text)
    fields = {"name": "billing", "kind": "service", "role": "producer", "lifetime": "never"}

    made = await admin.post("/console/account/tokens/new", fields)
    again = await admin.post("/console/account/tokens/new", fields)

    assert "Does not expire" in words(made.text)
    assert again.status_code == 409
    assert "There is a service token named 'billing'" in words(again.text)


async def test_a_token_is_revoked_after_a_look_at_it(
    ada: Visitor, another: Callable[[], Visitor], store: Store
) -> None:
    made = await ada.post("/console/account/tokens/new", name="laptop", role="viewer", lifetime="604800")
    [token] = set(_TOKEN.findall(made.text))
    path = f"/console/account/tokens/{token.split('_')[1]}/revoke"
    assert "Revoke “laptop”?" in words((await ada.get(path)).text)

    answer = await ada.post(path, reason="lost")

    assert answer.headers["location"] == "/console/account"
    assert await bearer(ada, token) == 401
    assert (await ada.get(path)).status_code == 404
    assert (await ada.post(path)).status_code == 404


async def test_a_token_of_somebody_else_is_out_of_reach(
    ada: Visitor, another: Callable[[], Visitor], store: Store
) -> None:
    await store.run(calls.create_account("bob", password_hash=PASSWORD_HASH, roles=[Role.VIEWER], origin="api"))
    bob = another()
    await bob.post("/console/login", username="bob", password=PASSWORD)
    await bob.get("/console/account")
    made = await bob.post("/console/account/tokens/new", name="x", role="viewer", lifetime="604800")
    [token] = set(_TOKEN.findall(made.text))
    path = f"/console/account/tokens/{token.split('_')[1]}/revoke"

    assert (await ada.get(path)).status_code == 404
    assert (await ada.post(path)).status_code == 404
    assert await bearer(bob, token) == 200


def test_every_permission_and_role_has_its_words() -> None:
    assert set(WORDS) == set(Permission)
    assert set(ROLES) == set(Role)
    assert [allowed.about for allowed in in_words(ALLOWED[Role.PRODUCER])] == ["Jobs"]


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18 like Mac OS X) Version/18 Safari/604.1", "Safari on iPhone"),
        ("curl/8.0", "curl/8.0"),
        ("", "unknown"),
    ],
)
def test_browsers_are_told_in_two_words(agent: str, told: str) -> None:
    assert credentials.browser(agent) == told


async def test_who_may_not_read_the_overview_is_led_to_their_account(visit: Callable[[Role], Any]) -> None:
    producer: Visitor = await visit(Role.PRODUCER)

    again = await producer.post("/console/login", username="producer", password=PASSWORD)
    refused = await producer.get("/console")

    assert again.headers["location"] == "/console/account"
    assert refused.status_code == 403
    assert "What you may do" in words(refused.text)
    told = words((await producer.get("/console/account")).text)
    assert "Jobs see those one has submitted; submit" in told
