"""From a failure somebody heard of to the group that failed like that, and all of it replayed."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, dead_jobs, pause
from e2e.product import Product
from leaseforge.jobs import JobState
from tests.support import eventually_sync


@pytest.mark.usefixtures("worker")
def test_failing_jobs_are_found_by_their_error_and_their_group_is_replayed(
    visit: Callable[..., Console], product: Product
) -> None:
    dead_jobs(product, "invoices", 306)
    pause(product, ["invoices"])
    console = visit()
    page = console.page

    console.go_to("Dead letters")
    row = page.locator("#groups tbody tr").filter(has_text="invoices")
    row.get_by_role("button", name="Retry 306…").click()
    expect(console.dialog).to_contain_text("Retry 306 dead jobs?")
    expect(console.dialog).to_contain_text("exactly these jobs, none that comes later")
    console.watch.check()
    console.dialog.get_by_label("Jobs a second, at most").fill("1000")
    console.dialog.get_by_label("Reason").fill("the provider is back")
    console.dialog.get_by_role("button", name="Retry 306 jobs").click()

    expect(console.heading()).to_contain_text("Retry 306 dead jobs")
    console.expect_told("Retrying 306 dead jobs.")
    expect(console.heading()).to_contain_text("done")
    expect(page.get_by_role("region", name="Progress")).to_contain_text("306 of 306")
    console.watch.check()
    eventually_sync(lambda: count(product, "invoices", JobState.READY) == 306)
    page.get_by_role("link", name="Audit entries").click()
    expect(page.locator("main")).to_contain_text("the provider is back")
