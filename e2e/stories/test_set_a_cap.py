"""A cap set under load: the form, old and new beside each other, and claims that stay under it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, enqueue
from e2e.product import Product
from leaseforge import reads
from leaseforge.jobs import JobState
from tests.support import eventually_sync


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no-script"])
@pytest.mark.usefixtures("worker")
def test_claims_stay_under_a_cap_set_under_load(
    visit: Callable[..., Console], product: Product, scripted: bool
) -> None:
    queue = f"capped-{'live' if scripted else 'plain'}"
    enqueue(product, queue, count=3000, type="sleep", payload={"duration_ms": 300})
    eventually_sync(lambda: count(product, queue, JobState.RUNNING) > 2, within_s=30.0)
    console = visit(scripted=scripted)
    page = console.page

    console.open(f"/queues/{queue}")
    console.watch.check()
    page.get_by_role("main").get_by_role("link", name="Settings").click()
    expect(console.heading()).to_have_text(f"Settings of {queue}")
    console.watch.check()
    page.get_by_label("Cap", exact=True).fill("many")
    with console.watch.expecting(422):
        page.get_by_role("button", name="Review the change").click()
        expect(page.get_by_text("Must be 1 to 1,000,000.")).to_be_visible()
    page.get_by_label("Cap", exact=True).fill("2")
    page.get_by_role("button", name="Review the change").click()
    expect(page.locator("#change-max_running")).to_contain_text("no cap")
    console.watch.check()
    page.get_by_label("Reason").fill("the provider is slow")
    page.get_by_role("button", name="Change the queue").click()

    console.expect_told(f"Changed {queue}: cap 2.")
    expect(page.locator("#queue-head")).to_contain_text("cap 2")
    eventually_sync(lambda: count(product, queue, JobState.RUNNING) <= 2, within_s=30.0)
    done = count(product, queue, JobState.COMPLETED)
    seen = []

    def goes_on() -> bool:
        seen.append(count(product, queue, JobState.RUNNING))
        return count(product, queue, JobState.COMPLETED) >= done + 6

    eventually_sync(goes_on, within_s=30.0)
    assert max(seen) <= 2
    assert product.store.run(reads.queue(queue)).limits.max_running == 2
    if scripted:
        expect(page.locator("#queue-figures")).to_contain_text("of the cap")
        console.watch.check()
