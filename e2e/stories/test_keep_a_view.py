"""A filter kept under a name: saved, opened by its address, renamed, deleted; with and without script."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import Product


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no-script"])
def test_a_view_is_saved_opened_and_deleted(visit: Callable[..., Console], product: Product, scripted: bool) -> None:
    queue = f"viewed-{'live' if scripted else 'plain'}"
    enqueue(product, queue, count=2, tags=("vip",))
    enqueue(product, queue)
    console = visit(scripted=scripted, width=1280 if scripted else 360)
    page, name = console.page, f"VIPs of {queue}"

    console.open(f"/jobs?queue={queue}&tag=vip")
    page.locator("#save-view summary").click()
    page.get_by_label("Name of the view").fill(name)
    console.watch.check()
    page.get_by_role("button", name="Save", exact=True).click()
    console.expect_told(f"Saved the view {name}.")
    chip = page.get_by_role("navigation", name="Saved views").get_by_role("link", name=name)
    expect(chip).to_have_attribute("aria-current", "true")
    console.watch.check()

    console.open("/jobs")
    chip.click()
    expect(page).to_have_url(f"{console.url}/console/jobs?queue={queue}&tag=vip")
    expect(page.locator("#jobs tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Edit views").click()
    console.watch.check()
    row = page.get_by_role("row").filter(has_text=name)
    row.get_by_label("Another name").fill(f"{name}!")
    row.get_by_role("button", name="Rename").click()
    console.expect_told(f"The view is called {name}! now.")
    row.get_by_role("button", name="Delete").click()
    console.expect_told("Deleted the view.")
    expect(row).to_have_count(0)
    console.open("/jobs")
    expect(page.get_by_text(name)).to_have_count(0)
