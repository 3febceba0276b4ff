"""On call without a mouse: from the Overview to a dead job, put back, and on, by single keys."""

from collections.abc import Callable

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, dead_job, enqueue
from e2e.product import Product
from leaseforge.jobs import JobState


def test_dead_jobs_are_found_looked_at_and_put_back_by_keys(visit: Callable[..., Console], product: Product) -> None:
    product.start_worker(queues="keyed")
    ids = [dead_job(product, "keyed", payload={"message": f"no answer {number}"}) for number in range(3)]
    product.stop_workers()
    console = visit()
    page, keys = console.page, console.page.keyboard

    keys.press("?")
    expect(console.dialog).to_contain_text("Go to anything")
    expect(console.dialog.get_by_text("Tick the row")).to_be_hidden()
    console.watch.check()
    keys.press("g")  # not while a dialog is open
    keys.press("j")
    expect(console.heading()).to_have_text("Overview")
    keys.press("Escape")
    keys.press("g")
    keys.press("d")
    expect(console.heading()).to_contain_text("Dead letters")

    console.open("/dead/jobs?queue=keyed")
    keys.press("?")
    expect(console.dialog.get_by_text("Tick the row")).to_be_visible()
    keys.press("Escape")
    rows = page.locator("tr[data-row]")
    keys.press("j")
    keys.press("j")
    expect(rows.nth(1).locator("[data-open]")).to_be_focused()
    keys.press("k")
    expect(rows.nth(0).locator("[data-open]")).to_be_focused()
    keys.press("j")
    with page.expect_navigation():
        keys.press("Enter")
    expect(page.get_by_role("region", name="Last error")).to_contain_text("no answer 1")
    page.go_back()
    expect(page).to_have_url(f"{console.url}/console/dead/jobs?queue=keyed")
    expect(rows).to_have_count(3)
    keys.press("j")
    with page.expect_navigation():
        keys.press("o")
    expect(console.heading()).to_be_visible()
    page.go_back()

    # By Tab from the row to its button; the focus goes on to the next row.
    expect(rows).to_have_count(3)
    keys.press("j")
    first = page.evaluate("document.activeElement.closest('tr').id")
    retry = page.locator(f"#{first}").get_by_role("button", name="Retry")
    for _ in range(6):
        keys.press("Tab")
        if retry.evaluate("(button) => button === document.activeElement"):
            break
    expect(retry).to_be_focused()
    keys.press("Enter")
    console.expect_told("Put back")
    expect(rows).to_have_count(2)
    expect(page).to_have_url(f"{console.url}/console/dead/jobs?queue=keyed")
    assert page.evaluate("document.activeElement.closest('tr')?.id") == f"job-{ids[1]}"
    assert count(product, "keyed", JobState.DEAD) == 2
    console.watch.check()


def test_keys_type_where_somebody_types_and_can_be_switched_off(
    visit: Callable[..., Console], product: Product
) -> None:
    enqueue(product, "typed")
    console = visit(anew=True)
    page, keys = console.page, console.page.keyboard
    console.open("/queues")

    keys.press("/")
    expect(page.locator("#search")).to_be_focused()
    keys.type("gj?x")
    expect(page.locator("#search")).to_have_value("gj?x")
    expect(console.dialog).to_have_count(0)
    keys.press("Escape")
    expect(page.locator("#search")).not_to_be_focused()
    keys.press("g")
    keys.press("w")
    expect(console.heading()).to_have_text("Workers")

    console.open("/account")
    page.get_by_role("button", name="Switch single keys off").click()
    console.expect_told("Single keys are off")
    console.open("/queues")
    keys.press("g")
    keys.press("w")
    keys.press("?")
    expect(console.dialog).to_have_count(0)
    expect(console.heading()).to_have_text("Queues")
    page.get_by_text("account and theme").locator("..").click()
    page.get_by_role("button", name="Keys", exact=True).click()
    expect(console.dialog).to_contain_text("Single keys are switched off")
    console.watch.check()
    keys.press("Escape")
    keys.press("Control+k")
    expect(page.get_by_role("combobox", name="Page, queue")).to_be_focused()
