"""Logging in through a real provider: there and back, kept out, as somebody else, and out again."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from e2e.console import Console
from e2e.product import ADMIN, Product, running
from tests.sso.providers.running import oidc_provider
from tests.support import free_port


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """An installation at the certified provider, where passwords are for emergencies."""
    port = free_port()
    callback = f"http://127.0.0.1:{port}/api/auth/oidc/callback"
    with oidc_provider(tmp_path_factory.mktemp("provider"), callback=callback) as provider:
        settings = {f"LEASEFORGE_OIDC_{name}": value for name, value in provider.settings.items()} | {
            "LEASEFORGE_OIDC_REDIRECT_URL": callback,
            "LEASEFORGE_OIDC_PROVIDER_NAME": "Example Login",
            "LEASEFORGE_OIDC_ADMIN_EMAILS": "ada@example.com",
            "LEASEFORGE_OIDC_END_SESSION": "on",
            "LEASEFORGE_PASSWORD_LOGIN": "off",
            "LEASEFORGE_BREAK_GLASS": ADMIN[0],
        }
        with running(tmp_path_factory.mktemp("connected"), port=port, more=settings) as product:
            yield product


def at_the_provider(page: Page, name: str) -> None:
    """Fills in the provider's own forms."""
    page.locator("input[name=login]").fill(name)
    page.locator("input[name=password]").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def log_in(console: Console, name: str) -> None:
    """From our login page through the provider. What its pages fetch from elsewhere is no business of ours."""
    console.page.get_by_role("link", name="Continue with Example Login").click()
    at_the_provider(console.page, name)


@pytest.mark.parametrize("scripted", [True, False])
def test_a_login_at_the_provider_leads_to_the_page_that_was_asked_for(
    scripted: bool, visit: Callable[..., Console], connected: Product
) -> None:
    console = visit(login=None, at=connected, scripted=scripted)
    console.open("/workers")
    expect(console.page.get_by_label("Password")).to_have_count(0)
    console.watch.check()

    with console.watch.server_may_be_away():
        log_in(console, "ada")
        expect(console.page).to_have_url(f"{console.url}/console/workers")

    expect(console.heading()).to_have_text("Workers")
    expect(console.page.locator("#user-menu summary")).to_contain_text("ada@example.com")


def test_whoever_has_no_role_is_told_and_comes_back_as_somebody_else(
    visit: Callable[..., Console], connected: Product
) -> None:
    console = visit(login=None, at=connected)
    console.open()
    with console.watch.server_may_be_away():
        log_in(console, "norbert")
        expect(console.heading()).to_have_text("You have no role here")
        console.page.wait_for_load_state("networkidle")
    expect(console.page.get_by_role("alert")).to_contain_text("norbert@example.com")
    console.watch.check()

    with console.watch.server_may_be_away():
        console.page.get_by_role("link", name="Use another account").click()
        at_the_provider(console.page, "ada")
        expect(console.heading()).to_have_text("Overview")


def test_logging_out_leads_on_to_the_provider_and_back(visit: Callable[..., Console], connected: Product) -> None:
    console = visit(login=None, at=connected)
    console.open()
    with console.watch.server_may_be_away():
        log_in(console, "ada")
        expect(console.heading()).to_have_text("Overview")

        console.page.locator("#user-menu summary").click()
        console.page.get_by_role("button", name="Log out").click()
        console.page.get_by_role("button", name="Yes, sign me out").click()

        expect(console.page).to_have_url(f"{console.url}/console/login")
    console.open()
    expect(console.heading()).to_have_text("Log in")


def test_in_an_emergency_a_named_account_has_a_password(visit: Callable[..., Console], connected: Product) -> None:
    console = visit(login=None, at=connected)
    console.open("/queues")

    console.page.get_by_role("link", name="Emergency login with a password").click()
    expect(console.page.get_by_text("Passwords are for a few emergency accounts only")).to_be_visible()
    console.watch.check()
    console.log_in(*ADMIN)

    expect(console.heading()).to_have_text("Queues")
