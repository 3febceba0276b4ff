"""Dead letters: from the kinds of error to the jobs, and what to do with one of them."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, dead_job, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no-script"])
def test_from_a_group_to_its_jobs_one_put_back_and_one_deleted(
    visit: Callable[..., Console], product: Product, scripted: bool
) -> None:
    queue = f"letters-{'live' if scripted else 'plain'}"
    first, second = (dead_job(product, queue, payload={"message": "no answer from pay.example"}) for _ in range(2))
    console = visit(scripted=scripted)
    page = console.page

    console.go_to("Dead letters")
    expect(console.heading()).to_have_text("Dead letters")
    page.get_by_label("Queue", exact=True).select_option(queue)
    page.get_by_role("button", name="Filter").click()
    row = page.locator("#groups tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("no answer from pay.example")
    console.watch.check()
    row.get_by_role("link", name="DemoFailure").click()
    expect(page.locator("#dead-jobs tbody tr")).to_have_count(2)
    expect(page.locator("#dead-head")).to_contain_text("2 jobs that failed alike")
    console.watch.check()

    page.locator(f"#job-{first}").get_by_role("link", name="Delete…").click()
    asked = console.dialog if scripted else page.locator("#confirm")
    expect(asked).to_contain_text("cannot be brought back")
    console.watch.check()
    asked.get_by_label("Reason").fill("a test order")
    asked.get_by_role("button", name="Delete the job").click()
    console.expect_told(f"Deleted job {first}")
    page.goto(f"{console.url}/console/dead/jobs?queue={queue}")
    page.locator(f"#job-{second}").get_by_role("button", name="Retry").click()
    console.expect_told("Put back")
    wait_for_state(product, second, JobState.DEAD)
    page.goto(f"{console.url}/console/dead/jobs?queue={queue}")
    page.locator(f"#job-{second} a").first.click()
    expect(page.get_by_role("region", name="Last error")).to_contain_text("DemoFailure")
    page.get_by_role("link", name="Jobs that failed alike").click()
    expect(page.locator("#dead-head")).to_contain_text("1 job that failed alike")


@pytest.mark.usefixtures("worker")
def test_a_group_fills_while_somebody_looks_and_is_purged(visit: Callable[..., Console], product: Product) -> None:
    dead_job(product, "rising")
    console = visit(width=360)
    console.open("/dead?queue=rising")
    size = console.page.locator("#groups [data-label='Jobs']")
    expect(size).to_have_text("1")

    dead_job(product, "rising")
    expect(size).to_have_text("2")
    console.watch.check()

    console.page.get_by_role("link", name="Purge…").click()
    expect(console.dialog).to_contain_text("2 dead jobs of the queue rising")
    console.watch.check()
    console.dialog.get_by_role("button", name="Purge 2 jobs").click()
    console.expect_told("Purged 2 dead jobs")
    expect(console.page.get_by_text("No dead job in rising")).to_be_visible()
    console.watch.check()
    assert count(product, "rising", JobState.DEAD) == 0


@pytest.mark.usefixtures("worker")
def test_a_search_among_dead_jobs_says_how_far_it_looked(visit: Callable[..., Console], product: Product) -> None:
    dead_job(product, "sought", payload={"message": "the disk is full"})
    console = visit()
    console.open("/dead/jobs?queue=sought")

    console.page.get_by_label("Error contains").fill("DISK IS")
    console.page.keyboard.press("Enter")
    expect(console.page.locator("#dead-jobs tbody tr")).to_have_count(1)
    expect(console.page.locator("footer")).to_contain_text("1 found · searched 1 of 1 job")
    console.watch.check()
    console.page.get_by_label("Error contains").fill("something else")
    console.page.get_by_role("button", name="Filter").click()
    expect(console.page.get_by_text("No dead job matches")).to_be_visible()
    console.watch.check()
    console.page.get_by_role("link", name="Clear").click()
    expect(console.page.locator("#dead-jobs tbody tr")).not_to_have_count(0)
