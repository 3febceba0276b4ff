"""A paced replay meets the same failure again: it stops by itself, says so, and is aborted."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, dead_jobs
from e2e.product import Product
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
def test_too_many_failures_stop_it_and_it_is_aborted(visit: Callable[..., Console], product: Product) -> None:
    dead_jobs(product, "parcels", 200)
    console = visit()
    page = console.page
    console.open("/dead?queue=parcels")
    page.get_by_role("button", name="Retry 200…").click()
    console.dialog.get_by_role("button", name="Retry 200 jobs").click()

    expect(console.heading()).to_contain_text("stopped")
    note = page.locator("#operation-notes")
    expect(note).to_contain_text("It stopped by itself")
    expect(note).to_contain_text("The limit was 20 %")
    expect(page.get_by_role("button", name="Go on with")).to_be_visible()
    console.watch.check()
    note.get_by_role("link", name="See what fails").click()
    expect(page.locator("#dead-jobs tbody tr").first).to_contain_text("no answer from pay.example")

    page.go_back()
    page.get_by_role("link", name="Abort…").click()
    expect(console.dialog).to_contain_text("What is done stays done.")
    console.watch.check()
    console.dialog.get_by_label("Reason").fill("the provider is still away")
    console.dialog.get_by_role("button", name="Abort", exact=True).click()
    expect(console.dialog).to_have_count(0)
    expect(console.heading()).to_contain_text("aborted")
    console.expect_told("What was done stays done.")
    console.go_to("Operations")
    expect(page.locator("#operations tbody tr").first).to_contain_text("aborted")
    console.watch.check()
    assert count(product, "parcels", JobState.DEAD) == 200
