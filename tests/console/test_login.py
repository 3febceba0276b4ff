from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth import session_calls
from leaseforge_auth.roles import Role
from tests.console.browsing import Visitor, hidden_fields, words
from tests.console.conftest import PASSWORD

Visit = Callable[[Role], Any]


async def test_a_page_leads_strangers_to_the_login_and_names_the_way_back(stranger: Visitor) -> None:
    answer = await stranger.get("/console/queues/mail?state=dead&offset=50")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/console/login?next=/console/queues/mail%3Fstate%3Ddead%26offset%3D50"
    form = await stranger.get(answer.headers["location"])
    assert 'name="next" value="/console/queues/mail?state=dead&amp;offset=50"' in form.text


async def test_a_request_of_htmx_gets_401_and_the_browser_is_sent_to_the_login(operator: Visitor) -> None:
    await operator.get("/console/queues")
    operator.client.cookies.clear()

    answer = await operator.post("/console/queues/mail/pause", htmx=True)

    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/console/login?next=/console/queues&undone=1"
    assert answer.content == b""


async def test_a_stream_is_never_the_page_to_come_back_to(stranger: Visitor) -> None:
    answer = await stranger.get("/console/live/queues")

    assert answer.headers["location"] == "/console/login"


async def test_a_session_begins_with_the_right_password_and_leads_back(visit: Visit) -> None:
    visitor: Visitor = await visit(Role.VIEWER)
    first = visitor.client.cookies["leaseforge"]

    answer = await visitor.post("/console/login", username="viewer", password=PASSWORD, next="/console/workers")

    assert answer.headers["location"] == "/console/workers"
    assert visitor.client.cookies["leaseforge"] != first
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


@pytest.mark.parametrize("leads", ["https://evil.example", "//evil.example", "/\\evil.example", "/elsewhere"])
async def test_a_login_leads_to_pages_of_the_console_only(visit: Visit, leads: str) -> None:
    visitor: Visitor = await visit(Role.VIEWER)

    answer = await visitor.post("/console/login", username="viewer", password=PASSWORD, next=leads)

    assert answer.headers["location"] == "/console"


async def test_wrong_name_and_wrong_password_are_told_alike(visit: Visit, stranger: Visitor) -> None:
    await visit(Role.VIEWER)
    stranger.client.cookies.clear()

    wrong_password = await stranger.post("/console/login", username="viewer", password="not it")
    wrong_name = await stranger.post("/console/login", username="nobody", password=PASSWORD)

    assert (wrong_password.status_code, wrong_name.status_code) == (401, 401)
    assert words(wrong_password.text) == words(wrong_name.text)
    assert "set-cookie" not in wrong_password.headers


async def test_too_many_attempts_are_told_to_wait(stranger: Visitor) -> None:
    for _ in range(40):
        answer = await stranger.post("/console/login", username="viewer", password="not it")
        if answer.status_code == 429:
            break

    assert answer.status_code == 429
    assert "Try again in" in words(answer.text)


async def test_a_login_from_another_site_is_refused(stranger: Visitor) -> None:
    answer = await stranger.post("/console/login", origin="cross-site", username="viewer", password=PASSWORD)

    assert answer.status_code == 403


async def test_somebody_logged_in_is_led_on(operator: Visitor) -> None:
    answer = await operator.get("/console/login?next=/console/workers")

    assert (answer.status_code, answer.headers["location"]) == (303, "/console/workers")


async def test_logging_out_ends_the_session_on_the_server(operator: Visitor) -> None:
    await operator.get("/console")
    kept = operator.client.cookies["leaseforge"]

    answer = await operator.post("/console/logout")

    assert answer.headers["location"] == "/console/login"
    operator.client.cookies.set("leaseforge", kept)
    assert (await operator.get("/console")).status_code == 303


async def test_without_https_only_the_machine_itself_can_log_in(stranger: Visitor) -> None:
    answer = await stranger.get("/console/login", headers={"host": "jobs.example"})

    assert answer.status_code == 400
    assert "needs https" in words(answer.text)
    assert "<form" not in answer.text


async def test_the_front_door_leads_to_the_console(stranger: Visitor) -> None:
    answer = await stranger.get("/")

    assert (answer.status_code, answer.headers["location"]) == (302, "/console")


async def test_a_role_that_may_see_nothing_is_told_so(visit: Visit, store: Store) -> None:
    visitor: Visitor = await visit(Role.PRODUCER)

    answer = await visitor.get("/console")

    assert answer.status_code == 403
    assert "Not for your role" in words(answer.text)


@pytest.mark.parametrize("htmx", [False, True])
async def test_an_action_of_an_ended_session_was_not_done_and_that_is_told(
    operator: Visitor, store: Store, htmx: bool
) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    await operator.get("/console/queues/mail?state=dead")
    [session] = await store.run(session_calls.list_sessions("operator"))
    await store.run(session_calls.revoke_session("operator", session.id))

    answer = await operator.post("/console/queues/mail/pause", htmx=htmx)

    leads = answer.headers["hx-redirect" if htmx else "location"]
    assert (answer.status_code, answer.text) == (401 if htmx else 303, "")
    assert leads == "/console/login?next=/console/queues/mail%3Fstate%3Ddead&undone=1"
    login = (await operator.get(leads)).text
    assert "What you just sent was not carried out" in words(login)
    fields = hidden_fields(login, "/console/login")
    wrong = await operator.post("/console/login", fields, username="operator", password="not it")
    assert hidden_fields(wrong.text, "/console/login") == fields
    back = await operator.post("/console/login", fields, username="operator", password=PASSWORD)
    assert back.headers["location"] == "/console/queues/mail?state=dead"
    page = words((await operator.get("/console/queues/mail?state=dead")).text)
    assert "Your session had ended before the last action arrived: nothing was done." in page
    assert not (await store.run(reads.queue("mail"))).paused


async def test_streams_and_dialogs_of_an_ended_session_lead_to_the_page_they_belong_to(operator: Visitor) -> None:
    await operator.get("/console/queues?offset=50")
    operator.client.cookies.set("leaseforge", "x" * 43, domain="127.0.0.1")

    for path in ("/console/live/queues", "/console/live/still", "/console/queues/mail/purge", "/console/palette?q=x"):
        answer = await operator.get(path, htmx=True)
        assert (answer.status_code, answer.text) == (401, "")
        assert answer.headers["hx-redirect"] == "/console/login?next=/console/queues%3Foffset%3D50"
