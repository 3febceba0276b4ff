"""Logging in: the right password, the wrong one, and a session that ends while a page is open."""

from collections.abc import Callable

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import ADMIN, Product


def test_a_login_leads_to_the_page_that_was_asked_for(visit: Callable[..., Console]) -> None:
    console = visit(login=None)

    console.open("/workers")
    console.watch.check()
    console.log_in(*ADMIN)

    expect(console.page).to_have_url(f"{console.url}/console/workers")
    expect(console.heading()).to_have_text("Workers")


def test_a_wrong_password_is_told_and_the_name_kept(visit: Callable[..., Console]) -> None:
    console = visit(login=None)

    with console.watch.expecting(401):
        console.log_in(ADMIN[0], "not the password")
        expect(console.page.get_by_role("alert")).to_contain_text("not right")
    expect(console.page.get_by_label("Name")).to_have_value(ADMIN[0])
    console.watch.check()


def test_the_login_page_leads_to_no_other_site(visit: Callable[..., Console]) -> None:
    for evil in ("https://evil.example/console", "//evil.example/console", "/console/../..//evil.example", "/\\evil"):
        console = visit(login=None)
        console.open(f"/login?next={evil}")

        console.log_in(*ADMIN)

        expect(console.heading()).to_have_text("Overview")
        assert console.page.url.startswith(console.url)


def test_logging_out_ends_the_session_and_back_shows_nothing(visit: Callable[..., Console]) -> None:
    console = visit(anew=True)

    console.page.locator("#user-menu summary").click()
    console.page.get_by_role("button", name="Log out").click()
    expect(console.heading()).to_have_text("Log in")
    console.page.go_back()

    expect(console.heading()).to_have_text("Log in")


def test_an_ended_session_leads_from_an_action_to_the_login_and_back(
    visit: Callable[..., Console], product: Product
) -> None:
    enqueue(product, "sessions")
    console = visit(anew=True)
    console.open("/queues")
    expect(console.page.locator("#live")).to_have_attribute("data-state", "live")
    console.page.context.clear_cookies()

    with console.watch.expecting(401):
        console.queue_row("sessions").get_by_role("link", name="Pause").click()
        expect(console.heading()).to_have_text("Log in")
    console.log_in(*ADMIN)

    expect(console.page).to_have_url(f"{console.url}/console/queues")


def test_an_open_page_notices_that_its_session_has_ended(visit: Callable[..., Console], product: Product) -> None:
    console = visit(anew=True)
    console.open("/queues")
    expect(console.page.locator("#live")).to_have_attribute("data-state", "live")
    console.page.context.clear_cookies()

    with console.watch.server_may_be_away():
        product.restart_server()
        expect(console.heading()).to_have_text("Log in")
    console.log_in(*ADMIN)

    expect(console.page).to_have_url(f"{console.url}/console/queues")
