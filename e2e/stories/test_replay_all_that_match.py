"""All jobs that match a filter are replayed, and what arrives while somebody reads the confirmation is not."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from e2e.console import Console
from e2e.producing import dead_job, dead_jobs, pause, states
from e2e.product import Product
from leaseforge import operations
from leaseforge.jobs import JobState
from tests.support import eventually_sync


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no-script"])
def test_a_late_arrival_is_not_touched(visit: Callable[..., Console], product: Product, scripted: bool) -> None:
    queue = f"orders-{'live' if scripted else 'plain'}"
    ids = dead_jobs(product, queue, 12)
    console = visit(scripted=scripted)
    page = console.page
    console.open(f"/dead/jobs?queue={queue}&text=PAY.example")

    page.get_by_label("All that match").check()
    page.locator("#pick").get_by_role("button", name="Retry").click()
    asked = console.dialog if scripted else page.locator("#confirm")
    expect(asked).to_contain_text("Retry 12 dead jobs?")
    console.watch.check()
    late = dead_job(product, queue, payload={"message": "no answer from pay.example"})
    pause(product, [queue])
    asked.get_by_role("button", name="Retry 12 jobs").click()

    expect(console.heading()).to_contain_text("Retry 12 dead jobs")
    if not scripted:  # the page stands still until its reader looks again
        eventually_sync(lambda: operation_over(page), within_s=30.0)
    expect(page.get_by_role("region", name="Progress")).to_contain_text("12 of 12")
    expect(console.heading()).to_contain_text("done")
    console.watch.check()
    assert states(product, ids) == [JobState.READY] * 12
    assert states(product, [late]) == [JobState.DEAD]
    product.store.run(operations.resume(queue))


def operation_over(page: Page) -> bool:
    """Looks again at an operation that is not over yet."""
    again = page.get_by_role("link", name="Look again")
    if not again.count():
        return True
    again.click()
    return False
