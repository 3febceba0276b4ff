"""A job that waits for tomorrow is wanted now: it is let go from its page, with a reason."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
def test_it_runs_at_once(visit: Callable[..., Console], product: Product) -> None:
    [job_id] = enqueue(product, "tomorrow", delay_ms=86_400_000)
    console = visit(width=360)
    page = console.page
    console.open(f"/jobs/{job_id}")
    expect(console.heading()).to_contain_text("scheduled")

    page.locator("#job-head details summary").click()
    expect(page.get_by_role("textbox", name="Reason")).to_be_visible()
    console.watch.check()
    page.get_by_role("textbox", name="Reason").fill("the customer waits")
    page.get_by_role("button", name="Run now with this reason").click()

    console.expect_told("Ready to run")
    wait_for_state(product, job_id, JobState.COMPLETED)
    expect(console.heading()).to_contain_text("completed")
    expect(page.get_by_role("region", name="Result")).to_be_visible()
    console.watch.check()
