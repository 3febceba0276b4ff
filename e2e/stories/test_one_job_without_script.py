"""Everything about one job can be done with JavaScript switched off."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
def test_submitted_stopped_run_again_mended_and_revealed(visit: Callable[..., Console], product: Product) -> None:
    console = visit(scripted=False)
    page = console.page
    console.open("/jobs/new")
    page.get_by_label("Queue", exact=True).fill("plain-hand")
    page.get_by_label("Type").fill("sleep")
    page.get_by_label("Payload, JSON").fill('{"duration_ms": 600000}')
    page.get_by_role("button", name="Submit the job").click()
    console.expect_told("Submitted: job")
    job_id = page.url.rpartition("/")[2]
    wait_for_state(product, job_id, JobState.RUNNING)

    page.reload()
    page.get_by_role("link", name="Cancel…").click()
    page.get_by_label("Reason").fill("too long")
    page.get_by_role("button", name="Cancel the job").click()
    console.expect_told("Asked to stop")
    wait_for_state(product, job_id, JobState.CANCELLED)
    page.reload()
    page.get_by_role("link", name="Run again…").click()
    page.get_by_role("button", name="Run it again").click()
    console.expect_told("Put back")
    wait_for_state(product, job_id, JobState.RUNNING)

    [broken] = enqueue(product, "plain-hand", type="sleep", payload={"duration_ms": "soon"}, max_attempts=1)
    wait_for_state(product, broken, JobState.DEAD)
    console.open(f"/jobs/{broken}")
    page.get_by_role("link", name="Edit and retry…").click()
    page.get_by_label("Payload, JSON").fill('{"duration_ms": 10}')
    page.get_by_role("button", name="Show the changes").click()
    expect(page.get_by_role("region", name="Changes")).to_contain_text('"duration_ms": 10')
    page.get_by_role("button", name="Back to the editor").click()
    expect(page.get_by_label("Payload, JSON")).to_have_value('{"duration_ms": 10}')
    page.get_by_role("button", name="Show the changes").click()
    page.get_by_role("button", name="Retry with the new payload").click()
    console.expect_told("Put back with the new payload")
    wait_for_state(product, broken, JobState.COMPLETED)

    [later] = enqueue(product, "plain-hand", payload={"token": "tok_4242"}, delay_ms=3_600_000)
    console.open(f"/jobs/{later}")
    page.get_by_role("button", name="Run now", exact=True).click()
    console.expect_told("Ready to run")
    wait_for_state(product, later, JobState.COMPLETED)
    console.open(f"/jobs/{later}/reveal")
    page.get_by_label("Reason").fill("ticket 17")
    page.get_by_role("button", name="Reveal and write it down").click()
    expect(page.locator("#payload")).to_contain_text("tok_4242")
    console.watch.check()
