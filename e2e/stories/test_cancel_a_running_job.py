"""A job runs too long: it is asked to stop, and its page shows how it ends."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue, wait_for_state
from e2e.product import Product
from leaseforge import operations
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
def test_it_stops_and_may_run_once_more(visit: Callable[..., Console], product: Product) -> None:
    [job_id] = enqueue(product, "stopped", type="sleep", payload={"duration_ms": 600_000})
    wait_for_state(product, job_id, JobState.RUNNING)
    console = visit()
    page = console.page
    console.open(f"/jobs/{job_id}")
    lease = page.get_by_role("region", name="Lease")
    expect(lease).to_contain_text("left")
    expect(lease.get_by_role("link")).to_be_visible()

    page.get_by_role("link", name="Cancel…").click()
    expect(console.dialog).to_contain_text("What it has done by then is not undone")
    console.watch.check()
    console.dialog.get_by_label("Reason").fill("customer gave up")
    console.dialog.get_by_role("button", name="Cancel the job").click()
    console.expect_told("Asked to stop")
    expect(page.locator("#job-head")).to_contain_text("cancelled")
    wait_for_state(product, job_id, JobState.CANCELLED)
    expect(page.get_by_role("region", name="Timeline")).to_contain_text("Cancelled")
    expect(page.get_by_role("link", name="Cancel…")).to_have_count(0)
    console.watch.check()

    page.get_by_role("link", name="Run again…").click()
    expect(console.dialog).to_contain_text("Whatever it did the first time, it does again.")
    console.dialog.get_by_role("button", name="Run it again").click()
    console.expect_told("Put back")
    wait_for_state(product, job_id, JobState.RUNNING)
    page.get_by_role("link", name="Cancel…").click()
    console.dialog.get_by_role("button", name="Cancel the job").click()
    wait_for_state(product, job_id, JobState.CANCELLED)


@pytest.mark.usefixtures("worker")
def test_one_that_has_ended_meanwhile_is_said_to_have_ended(visit: Callable[..., Console], product: Product) -> None:
    [job_id] = enqueue(product, "ended", delay_ms=3_600_000)
    console = visit()
    console.open(f"/jobs/{job_id}")
    console.page.get_by_role("link", name="Cancel…").click()
    expect(console.dialog).to_contain_text("before it runs")

    product.store.run(operations.promote(job_id, operation="somebody else"))
    wait_for_state(product, job_id, JobState.COMPLETED)
    with console.watch.expecting(409):
        console.dialog.get_by_role("button", name="Cancel the job").click()
        expect(console.dialog).to_contain_text("nothing was cancelled")
    expect(console.dialog).to_contain_text("It was completed")
    console.watch.check()
    console.dialog.get_by_role("link", name="Back").click()
    expect(console.heading()).to_contain_text("completed")
