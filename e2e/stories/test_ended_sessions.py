"""A session ends in the middle of the work: nobody is left in front of a page that lies."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import ADMIN, VIEWER, Product
from leaseforge import reads
from leaseforge.jobs import JobState
from leaseforge_auth import calls, session_calls


def _end_sessions(product: Product, username: str) -> None:
    for session in product.store.run(session_calls.list_sessions(username)):
        product.store.run(session_calls.revoke_session(username, session.id))


def test_an_action_of_an_expired_session_is_told_to_be_undone_and_leads_back(
    visit: Callable[..., Console], product: Product, sessions: dict[Any, Any]
) -> None:
    enqueue(product, "expiring", count=2)
    console = visit(anew=True)
    console.open("/queues")
    row = console.queue_row("expiring")
    expect(row).to_be_visible()
    row.get_by_role("link", name="Purge").click()
    expect(console.dialog).to_contain_text("2 ready jobs")

    with console.watch.expecting(401):
        # The tab does not hear of it: what counts is what is sent afterwards.
        console.page.route("**/console/live/**", lambda route: route.abort())
        _end_sessions(product, ADMIN[0])
        sessions.clear()
        console.dialog.get_by_role("button", name="Purge 2 jobs").click()
        console.page.wait_for_url("**/login?**")
    expect(console.page.get_by_role("alert")).to_contain_text("What you just sent was not carried out")
    console.page.unroute("**/console/live/**")
    console.watch.check()
    console.log_in(*ADMIN)
    expect(console.heading()).to_have_text("Queues")
    console.expect_told("nothing was done")
    assert product.store.run(reads.queue("expiring")).counts[JobState.READY] == 2


@pytest.mark.parametrize("path", ["/queues", "/account"])
def test_a_session_that_is_ended_throws_its_open_tabs_out(
    visit: Callable[..., Console], product: Product, sessions: dict[Any, Any], path: str
) -> None:
    console = visit(anew=True, login=VIEWER)
    console.open(path)
    expect(console.heading()).to_be_visible()
    if path == "/queues":
        expect(console.page.locator("#live")).to_have_attribute("data-state", "live")

    with console.watch.expecting(401):
        product.store.run(calls.change_account(VIEWER[0], everywhere=True))
        sessions.clear()
        expect(console.heading()).to_have_text("Log in")
    assert console.page.url.endswith(f"/console/login?next=/console{path}")
    console.log_in(*VIEWER)
    expect(console.page).to_have_url(f"{console.url}/console{path}")


def test_other_roles_take_the_buttons_away(
    visit: Callable[..., Console], product: Product, sessions: dict[Any, Any]
) -> None:
    enqueue(product, "demoted")
    admin = visit(anew=True)
    admin.open("/new-user")
    admin.page.get_by_label("Name", exact=True).fill("dora")
    admin.page.get_by_label("operator").check()
    admin.page.get_by_role("button", name="Make the user").click()
    password = admin.page.locator("#secret").inner_text()
    dora = visit(anew=True, login=("dora", password))
    dora.open("/queues")
    expect(dora.queue_row("demoted").get_by_role("link", name="Purge")).to_be_visible()

    with dora.watch.expecting(401):
        admin.open("/users/dora")
        admin.page.get_by_label("operator").uncheck()
        admin.page.get_by_label("viewer").check()
        admin.page.get_by_role("button", name="Save roles").click()
        admin.expect_told("dora is viewer now")
        expect(dora.heading()).to_have_text("Log in")
    dora.log_in("dora", password)

    expect(dora.queue_row("demoted")).to_be_visible()
    expect(dora.queue_row("demoted").get_by_role("link", name="Purge")).to_have_count(0)
    sessions.clear()
