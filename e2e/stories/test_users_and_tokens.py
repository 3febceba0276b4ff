"""People and programs are let in, and kept out again; what is shown once is shown once."""

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.product import ADMIN, Product


def api_status(product: Product, token: str) -> int:
    return httpx.get(f"{product.url}/api/queues", headers={"Authorization": f"Bearer {token}"}).status_code


def shown_once(console: Console) -> str:
    """The password or token on the page."""
    secret = console.page.locator("#secret")
    expect(secret).to_be_visible()
    return secret.inner_text()


@pytest.mark.parametrize("scripted", [True, False])
def test_a_colleague_comes_and_goes(visit: Callable[..., Console], product: Product, scripted: bool) -> None:
    name = f"ada.{scripted}".lower()
    admin = visit(scripted=scripted)
    admin.go_to("Users & tokens")
    admin.page.get_by_role("link", name="New user").click()
    admin.page.get_by_role("textbox", name="Name").fill(name)
    admin.page.get_by_role("checkbox", name="operator").check()
    admin.page.get_by_role("button", name="Make the user").click()
    password = shown_once(admin)
    admin.watch.check()
    assert password not in admin.page.url

    ada = visit(login=(name, password), scripted=scripted, anew=True)
    ada.open("/account")
    expect(ada.page.get_by_role("region", name="What you may do")).to_contain_text("Is on call")
    ada.page.get_by_label("Current password").fill(password)
    ada.page.get_by_label("New password", exact=True).fill("a password of her own")
    ada.page.get_by_label("New password again").fill("a password of her own")
    ada.page.get_by_role("button", name="Change password").click()
    ada.expect_told("Changed your password.")
    ada.watch.check()

    admin.page.get_by_role("link", name="Done").click()
    expect(admin.heading()).to_contain_text(name)
    expect(admin.page.get_by_role("region", name="Sessions").last).to_contain_text("Chrome")
    admin.page.get_by_role("link", name="Disable…").click()
    admin.page.locator("#confirm").get_by_label("Reason").fill("left the company")
    with ada.watch.expecting(401):  # her tab may find out by itself
        admin.page.get_by_role("button", name="Disable the account").click()
        admin.expect_told(f"Disabled {name}.")
        expect(admin.heading()).to_contain_text("disabled")
        ada.page.reload()
        expect(ada.heading()).to_have_text("Log in")

    admin.page.get_by_role("link", name="Delete…").click()
    word = admin.page.get_by_label(f"Type {name} to confirm")
    word.fill("somebody")
    with admin.watch.expecting(422):
        admin.page.get_by_role("button", name="Delete the account").click()
        expect(admin.page.locator("#word-problem")).to_be_visible()
    admin.watch.check()
    word.fill(name)
    admin.page.get_by_role("button", name="Delete the account").click()
    admin.expect_told(f"Deleted {name}.")
    expect(admin.page.locator(f"[id='user-{name}']")).to_have_count(0)

    admin.open(f"/audit?target={name}")
    expect(admin.page.get_by_role("main")).to_contain_text("“left the company”")
    rows = admin.page.locator("tr[id^=entry-]")
    expect(rows.filter(has_text="user.delete").first).to_contain_text("ok")
    expect(rows.filter(has_text="user.delete").last).to_contain_text("refused")


@pytest.mark.parametrize("scripted", [True, False])
def test_a_token_is_made_used_and_revoked(visit: Callable[..., Console], product: Product, scripted: bool) -> None:
    name = f"reports {scripted}"
    console = visit(scripted=scripted)
    console.go_to("Account")
    console.page.get_by_role("link", name="New token").click()
    console.page.get_by_role("textbox", name="Name").fill(name)
    console.page.get_by_text("Single permissions").click()
    console.page.get_by_label("Queues: see them").check()
    console.watch.check()
    console.page.get_by_role("button", name="Make the token").click()
    token = shown_once(console)
    console.watch.check()
    assert token not in console.page.url
    assert all(token not in cookie["value"] for cookie in console.page.context.cookies())
    assert api_status(product, token) == 200

    console.page.get_by_role("link", name="Done").click()
    assert token not in console.page.content()
    console.page.get_by_role("row", name=name).get_by_role("link", name="Revoke…").click()
    console.page.get_by_role("button", name="Revoke the token").click()
    console.expect_told("Revoked the token")
    expect(console.page.get_by_role("row", name=name)).to_have_count(0)
    assert api_status(product, token) == 401


def test_the_last_administrator_stays(visit: Callable[..., Console]) -> None:
    console = visit()
    console.open(f"/users/{ADMIN[0]}")

    console.page.get_by_role("link", name="Disable…").click()
    with console.watch.expecting(409):
        console.dialog.get_by_role("button", name="Disable the account").click()
        expect(console.dialog).to_contain_text("This is the last enabled administrator: make another one first.")
    console.watch.check()
    console.dialog.get_by_role("link", name="Leave it enabled").click()
    expect(console.dialog).to_have_count(0)
    expect(console.heading()).to_contain_text("enabled")


def test_every_login_can_be_ended_at_once(visit: Callable[..., Console]) -> None:
    here = visit(anew=True)
    here.open("/account")
    expect(here.page.get_by_text("this one")).to_be_visible()
    # Other stories share a session of this account: only the one of this window is ended here.
    here.page.get_by_role("row").filter(has_text="this one").get_by_role("button", name="End").click()

    expect(here.heading()).to_have_text("Log in")
    here.open("/account")
    expect(here.heading()).to_have_text("Log in")


def test_the_trail_is_searched_read_and_taken_along(visit: Callable[..., Console]) -> None:
    console = visit(width=360)
    console.open("/audit")
    console.page.locator("#filters > summary").click()
    console.page.get_by_role("combobox", name="Action").fill("login")
    console.page.get_by_label("Result").select_option("ok")
    console.page.get_by_role("button", name="Filter").click()
    expect(console.page).to_have_url(f"{console.url}/console/audit?user=&action=login&target=&result=ok&since=&until=")

    console.page.locator("details[id^=more-] summary").first.click()
    expect(console.page.locator("details[id^=more-][open]")).to_contain_text("It was done.")
    console.watch.check()
    with console.page.expect_download() as download:
        console.page.get_by_role("link", name="Export as JSON lines").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert lines
    assert all('"action":"login"' in line and '"result":"ok"' in line for line in lines)


def test_what_needs_a_script_is_not_offered_without(visit: Callable[..., Console], product: Product) -> None:
    console = visit(scripted=False)
    console.open("/account/tokens/new")
    console.page.get_by_role("textbox", name="Name").fill("without script")
    console.page.get_by_role("radio", name="viewer").check()
    console.page.get_by_role("button", name="Make the token").click()

    assert api_status(product, shown_once(console)) == 200
    expect(console.page.get_by_role("button", name="Copy the token")).to_be_hidden()
