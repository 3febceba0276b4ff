"""One field leads everywhere: by letters, by arrows, without a mouse, and without script as a page."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import VIEWER, Product


def test_the_palette_leads_to_pages_queues_jobs_and_actions(visit: Callable[..., Console], product: Product) -> None:
    [job_id, *_] = enqueue(product, "palette-mail", count=3)
    console = visit()
    page, keys = console.page, console.page.keyboard
    field, found = page.get_by_role("combobox", name="Page, queue"), page.locator("#palette-list [role=option]")

    keys.press("Control+k")
    expect(field).to_be_focused()
    expect(found.first).to_contain_text("Overview")
    console.watch.check()
    keys.type("plette ma")
    expect(found.first).to_contain_text("palette-mail")
    expect(found.first).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", "hit-1")
    keys.press("ArrowDown")
    expect(found.nth(1)).to_have_attribute("aria-selected", "true")
    expect(field).to_be_focused()
    keys.press("ArrowUp")
    keys.press("ArrowUp")
    expect(found.last).to_have_attribute("aria-selected", "true")
    keys.press("Escape")
    expect(field).to_be_hidden()

    # Typed and sent before any answer is there.
    keys.press("Control+k")
    keys.type("pause palette-mail")
    keys.press("Enter")
    expect(console.heading()).to_contain_text("Pause palette-mail")
    page.get_by_role("button", name="Pause").last.click()
    console.expect_told("Paused palette-mail")

    page.get_by_role("button", name="Go to anything").click()
    keys.type(job_id[:8])
    expect(found.first).to_contain_text(job_id)
    keys.press("Enter")
    expect(page).to_have_url(f"{console.url}/console/jobs/{job_id}")
    keys.press("Control+k")
    keys.type("no such thing anywhere")
    expect(page.locator("#palette-news")).to_have_text("Nothing found")
    console.watch.check()


@pytest.mark.parametrize("scripted", [True, False])
def test_on_a_phone_and_without_script_the_same_is_a_page(
    visit: Callable[..., Console], product: Product, scripted: bool
) -> None:
    enqueue(product, "pocket-palette")
    console = visit(width=360, scripted=scripted, login=VIEWER)

    console.page.get_by_role("link", name="Find").click()
    if scripted:
        console.page.get_by_role("combobox", name="Page, queue").fill("pocket-pal")
        console.watch.check()
        console.page.get_by_role("option", name="pocket-palette queue").click()
    else:
        console.page.get_by_label("Job, queue, worker, page or action").fill("pocket-pal")
        console.page.get_by_role("button", name="Find").click()
        expect(console.page.get_by_role("list", name="Found")).not_to_contain_text("Pause")
        console.page.get_by_role("list", name="Found").get_by_role("link").first.click()
    expect(console.heading()).to_contain_text("pocket-palette")
