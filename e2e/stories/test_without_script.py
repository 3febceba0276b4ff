"""Everything can be read and done with JavaScript switched off."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, dead_job, enqueue, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
def test_a_dead_job_is_found_read_and_put_back(visit: Callable[..., Console], product: Product) -> None:
    job_id = dead_job(product, "plain")
    console = visit(scripted=False)

    console.go_to("Queues")
    console.queue_row("plain").get_by_role("link", name="1 dead").click()
    console.page.locator("#groups").get_by_role("link", name="DemoFailure").click()
    console.page.locator(f"#job-{job_id} .title a").click()
    expect(console.page.get_by_role("region", name="Last error")).to_contain_text("DemoFailure")
    console.page.get_by_role("button", name="Retry").click()

    console.expect_told("Put back")
    wait_for_state(product, job_id, JobState.DEAD)
    console.page.reload()
    expect(console.page.locator(".toast")).to_have_count(0)
    expect(console.page.locator("#attempts tbody tr")).to_have_count(2)
    console.page.get_by_role("link", name="Delete…").click()
    expect(console.heading()).to_have_text("Delete this job?")
    console.page.get_by_role("button", name="Delete the job").click()
    console.expect_told("Deleted job")


def test_a_queue_is_paused_purged_and_resumed(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "scriptless", count=1001)
    console = visit(scripted=False)
    console.open("/queues")

    console.pause("scriptless", reason="too many")
    console.expect_told("Paused scriptless")
    expect(console.page).to_have_url(f"{console.url}/console/queues/scriptless")
    console.go_to("Queues")
    expect(console.queue_row("scriptless")).to_contain_text("paused")
    console.purge("scriptless")
    expect(console.page.get_by_text("1,001 ready jobs")).to_be_visible()
    console.page.get_by_label("Type purge to confirm").fill("no")
    with console.watch.expecting(422):
        console.page.get_by_role("button", name="Purge 1,001 jobs").click()
        expect(console.page.get_by_text("Type the word purge")).to_be_visible()
    enqueue(product, "scriptless")
    console.page.get_by_label("Type purge to confirm").fill("purge")
    console.page.get_by_role("button", name="Purge 1,001 jobs").click()
    console.expect_told("Purged 1,001 ready jobs")
    expect(console.page).to_have_url(f"{console.url}/console/queues/scriptless")
    assert count(product, "scriptless", JobState.READY) == 1
    console.page.get_by_role("link", name="Resume…").click()
    console.page.get_by_role("button", name="Resume the queue").click()
    console.expect_told("Resumed scriptless")


def test_theme_search_menu_and_logout_work(visit: Callable[..., Console], product: Product) -> None:
    [job_id] = enqueue(product, "themes")
    console = visit(scripted=False, width=360, anew=True)

    console.page.get_by_role("button", name="Pages").click()
    console.go_to("Workers")
    expect(console.heading()).to_have_text("Workers")
    console.page.locator("#user-menu summary").click()
    console.page.get_by_role("button", name="Dark").click()
    expect(console.page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(console.heading()).to_have_text("Workers")
    console.page.get_by_role("link", name="Find").click()
    console.page.get_by_label("Job, queue, worker, page or action").fill(job_id)
    console.page.get_by_role("main").get_by_role("button", name="Find").click()
    expect(console.page).to_have_url(f"{console.url}/console/jobs/{job_id}")
    console.page.locator("#user-menu summary").click()
    console.page.get_by_role("button", name="Log out").click()
    expect(console.heading()).to_have_text("Log in")
