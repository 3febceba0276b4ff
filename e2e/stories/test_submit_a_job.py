"""A job is submitted by hand: mistakes are told, the last payload of its type helps, and the job runs to its end."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue, running_worker, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
def test_from_the_form_to_the_result(visit: Callable[..., Console], product: Product) -> None:
    [before] = enqueue(product, "by-hand", type="sleep", payload={"duration_ms": 20})
    wait_for_state(product, before, JobState.COMPLETED)
    running_worker(product)
    console = visit()
    page = console.page

    console.go_to("Jobs")
    page.get_by_role("link", name="New job").first.click()
    expect(page.get_by_label("Type")).to_be_focused()
    expect(page.locator("#known-types option[value=sleep]")).to_have_count(1)
    console.watch.check()
    page.get_by_label("Queue", exact=True).fill("by-hand")
    page.get_by_label("Type").fill("sleep")
    page.get_by_role("button", name="Take the last one of this type").click()
    field = page.get_by_label("duration_ms")
    expect(field).to_have_value(re.compile(r"^\d+$"))  # of whichever job of the type was last
    field.fill("soon")
    with console.watch.expecting(422):
        page.get_by_role("button", name="Submit the job").click()
        expect(page.get_by_text("Must be a whole number")).to_be_visible()
    console.watch.check()
    page.get_by_label("duration_ms").fill("20")
    page.get_by_role("button", name="Type it as JSON").click()
    payload = page.get_by_label("Payload, JSON")
    expect(payload).to_have_value('{\n  "duration_ms": 20\n}')
    payload.fill('{"duration_ms": 30')
    page.get_by_label("Delay, seconds").fill("soon")
    with console.watch.expecting(422):
        page.get_by_role("button", name="Submit the job").click()
        expect(page.get_by_text("The JSON ends too early")).to_be_visible()
    expect(page.get_by_text("Must be a number of seconds")).to_be_visible()
    console.watch.check()
    payload.fill('{"duration_ms": 30}')
    page.get_by_label("Delay, seconds").fill("")
    page.get_by_text("Priority, attempts").click()
    page.get_by_label("Tags").fill("by hand")
    page.get_by_role("button", name="Submit the job").click()

    console.expect_told("Submitted: job")
    expect(console.heading()).to_contain_text("completed")
    expect(page.get_by_role("region", name="Facts")).to_contain_text("by hand")
    console.watch.check()
    page.get_by_role("link", name="New one like it").click()
    expect(page.get_by_label("Tags")).to_have_value("by hand")
