"""A job died of its payload: it is mended in the editor, the change is seen first, and the job completes."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
def test_a_payload_is_mended_and_the_job_completes(visit: Callable[..., Console], product: Product) -> None:
    payload = {"duration_ms": "10", "api_token": "tok_4242"}
    [job_id] = enqueue(product, "mended", type="sleep", payload=payload, max_attempts=1)
    wait_for_state(product, job_id, JobState.DEAD)
    console = visit()
    page = console.page
    console.open(f"/jobs/{job_id}")

    page.get_by_role("link", name="Edit and retry…").click()
    editor = page.get_by_label("Payload, JSON")
    expect(editor).to_be_focused()
    expect(editor).to_have_value('{\n  "duration_ms": "10",\n  "api_token": "•••••• 1"\n}')
    console.watch.check()

    editor.fill('{\n  "duration_ms": 10,,\n  "api_token": "•••••• 1"\n}')
    with console.watch.expecting(422):
        page.get_by_role("button", name="Show the changes").click()
        expect(page.get_by_text("line 2, column 21")).to_be_visible()
    expect(editor).to_have_value('{\n  "duration_ms": 10,,\n  "api_token": "•••••• 1"\n}')
    console.watch.check()
    editor.fill('{\n  "duration_ms": 10,\n  "api_token": "•••••• 1"\n}')
    page.get_by_role("button", name="Show the changes").click()
    changes = page.get_by_role("region", name="Changes")
    expect(changes).to_contain_text("1 line removed, 1 line added")
    expect(changes.locator(".old")).to_contain_text('"duration_ms": "10"')
    expect(changes.locator(".new")).to_contain_text('"duration_ms": 10')
    console.watch.check()
    page.get_by_role("button", name="Back to the editor").click()
    editor.fill('{"duration_ms": 10}')
    page.get_by_role("button", name="Show the changes").click()
    expect(changes).to_contain_text("2 lines removed, 1 line added")
    expect(changes).not_to_contain_text("tok_4242")
    page.get_by_label("Reason").fill("duration as a text")
    page.get_by_role("button", name="Retry with the new payload").click()

    console.expect_told("Put back with the new payload")
    done = wait_for_state(product, job_id, JobState.COMPLETED)
    assert done.payload == b'{"duration_ms":10}'
    expect(page.locator("#attempts")).to_contain_text("completed")
    page.get_by_role("link", name="Audit entry").click()
    expect(page.locator("[id^=entry-]").first).to_contain_text("duration as a text")
    expect(page.locator("[id^=entry-]")).to_have_count(1)
    console.watch.check()
    assert "tok_4242" not in page.content()
