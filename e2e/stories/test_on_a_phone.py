"""On call with a phone: 360 pixels are enough to see and to act."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import dead_job, enqueue
from e2e.product import Product


@pytest.mark.usefixtures("worker")
def test_a_dead_job_is_found_through_the_menu_and_put_back(visit: Callable[..., Console], product: Product) -> None:
    job_id = dead_job(product, "pocket", payload={"message": "a rather long message " * 8})
    console = visit(width=360)
    console.watch.check()

    console.page.get_by_role("button", name="Pages").click()
    console.watch.check()
    console.go_to("Queues")
    expect(console.heading()).to_have_text("Queues")
    console.watch.check()
    console.queue_row("pocket").get_by_role("link", name="pocket", exact=True).click()
    console.page.get_by_role("link", name="Dead").click()
    console.watch.check()
    console.page.locator(f"#job-{job_id} a").click()
    expect(console.page.get_by_role("region", name="Last error")).to_be_visible()
    console.watch.check()
    console.page.get_by_role("button", name="Retry").click()
    console.expect_told("Put back")
    console.watch.check()


def test_a_queue_is_paused_and_purged_on_its_card(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "card", count=3)
    console = visit(width=360)
    console.open("/queues")

    row = console.queue_row("card")
    pause, purge = row.get_by_role("link", name="Pause"), row.get_by_role("link", name="Purge")
    widths = [button.bounding_box() for button in (pause, purge)]
    assert all(box is not None and box["width"] > 120 and box["height"] >= 36 for box in widths)
    pause.click()
    console.watch.check()
    console.dialog.get_by_role("button", name="Pause the queue").click()
    console.expect_told("Paused card")
    purge.click()
    expect(console.dialog).to_contain_text("3 ready jobs")
    console.watch.check()
    console.dialog.get_by_role("button", name="Purge 3 jobs").click()
    console.expect_told("Purged 3 ready jobs")


@pytest.mark.usefixtures("worker")
def test_filters_fold_behind_a_line_that_says_what_is_asked_for(
    visit: Callable[..., Console], product: Product
) -> None:
    dead_job(product, "folded")
    console = visit(width=360)
    console.open("/dead/jobs?queue=folded")
    page = console.page

    expect(page.get_by_label("Type", exact=True)).to_be_hidden()
    page.get_by_text("Filters: folded").click()
    page.get_by_label("Type", exact=True).fill("none-such")
    page.get_by_role("button", name="Filter", exact=True).click()

    expect(page.get_by_text("Filters: folded · none-such")).to_be_visible()
    expect(page.get_by_text("No dead job matches")).to_be_visible()
    console.watch.check()
