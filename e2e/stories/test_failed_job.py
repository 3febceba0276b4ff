"""A job failed: its page says why, and puts it back or removes it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from e2e.console import Console
from e2e.producing import dead_job, enqueue, wait_for_state
from e2e.product import Product
from leaseforge import operations
from leaseforge.jobs import JobState

pytestmark = pytest.mark.usefixtures("worker")


def test_its_page_shows_the_error_and_a_retry_puts_it_back(visit: Callable[..., Console], product: Product) -> None:
    job_id = dead_job(product, "failing", payload={"message": "no answer from pay.example"})
    console = visit()

    console.page.get_by_label("Find a job").fill(job_id)
    console.page.keyboard.press("Enter")
    expect(console.page).to_have_url(f"{console.url}/console/jobs/{job_id}")
    expect(console.heading()).to_contain_text("dead")
    error = console.page.get_by_role("region", name="Last error")
    expect(error).to_contain_text("DemoFailure: no answer from pay.example")
    expect(error).to_contain_text("Traceback (most recent call last)")
    expect(console.page.get_by_role("region", name="Timeline")).to_contain_text("Enqueued by checkout-api")
    expect(console.page.get_by_role("region", name="Payload").first).to_contain_text("no answer from pay.example")
    console.watch.check()

    console.page.get_by_role("button", name="Retry").click()
    console.expect_told("Put back")
    expect(console.page.get_by_role("region", name="Facts")).to_contain_text("Retried by hand")
    wait_for_state(product, job_id, JobState.DEAD)
    expect(console.page.locator("#attempts tbody tr")).to_have_count(2)
    console.page.locator("#attempts summary").first.click()
    console.watch.check()


def test_secret_looking_values_are_masked(visit: Callable[..., Console], product: Product) -> None:
    payload = {"card_token": "tok_4242", "user": {"password": "hunter2", "name": "Ada"}, "amount": 12.50}
    [job_id] = enqueue(product, "secrets", payload=payload)
    wait_for_state(product, job_id, JobState.COMPLETED)
    console = visit()

    console.open(f"/jobs/{job_id}")

    payload_panel = console.page.locator("#payload")
    expect(payload_panel).to_contain_text("2 values masked")
    expect(payload_panel).to_contain_text("Ada")
    content = console.page.content()
    assert "hunter2" not in content
    assert "tok_4242" not in content


def test_a_deleted_job_is_gone_for_those_who_look_at_it(visit: Callable[..., Console], product: Product) -> None:
    job_id = dead_job(product, "deleting")
    console, other = visit(), visit()
    other.open(f"/jobs/{job_id}")
    expect(other.page.locator("#live")).to_have_attribute("data-state", "live")
    console.open(f"/jobs/{job_id}")

    console.page.get_by_role("link", name="Delete…").click()
    expect(console.dialog).to_contain_text("cannot be brought back")
    console.watch.check()
    with other.watch.expecting(404):
        console.dialog.get_by_role("button", name="Delete the job").click()
        expect(console.page).to_have_url(f"{console.url}/console/queues/deleting?state=dead")
        console.expect_told(f"Deleted job {job_id}")
        expect(other.heading()).to_have_text("No such job")
    other.watch.check()


def test_a_page_that_is_gone_is_left_once_also_when_the_server_is_slow(
    visit: Callable[..., Console], product: Product
) -> None:
    job_id = dead_job(product, "slowly")
    console = visit()
    console.open(f"/jobs/{job_id}")
    expect(console.page.locator("#live")).to_have_attribute("data-state", "live")

    def answer_late(route: Route) -> None:
        console.page.wait_for_timeout(2_000)
        route.continue_()

    loads: list[str] = []
    console.page.on("request", lambda request: loads.append(request.url) if request.is_navigation_request() else None)
    console.page.route("**/console/jobs/*", answer_late)
    with console.watch.expecting(404):
        product.store.run(operations.delete(job_id))
        expect(console.heading()).to_have_text("No such job")
    assert len(loads) == 1


def test_an_unknown_id_is_said_to_be_unknown(visit: Callable[..., Console]) -> None:
    console = visit()

    console.page.get_by_label("Find a job").fill("8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11")
    console.page.keyboard.press("Enter")

    expect(console.page.get_by_text("No job with the id 8f3b0c52")).to_be_visible()
    console.watch.check()
