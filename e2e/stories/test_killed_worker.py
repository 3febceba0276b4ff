"""A worker dies without a word: the console shows the loss, the recovery, and the job running again elsewhere."""

import re
import signal
from collections.abc import Callable

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState


def test_the_loss_and_the_recovery_are_watched(visit: Callable[..., Console], product: Product) -> None:
    first = product.start_worker(queues="killed")
    [job_id] = enqueue(product, "killed", type="sleep", payload={"duration_ms": 120_000})
    wait_for_state(product, job_id, JobState.RUNNING)
    console = visit()
    console.open(f"/jobs/{job_id}")
    expect(console.page.locator("#job-head")).to_contain_text("running")
    console.page.evaluate("window.sameDocument = true")

    first.signal(signal.SIGKILL)
    first.wait()
    product.workers.remove(first)
    product.start_worker(queues="killed")

    attempts = console.page.get_by_role("region", name="Attempts").first
    expect(attempts).to_contain_text(re.compile("lease|lost|recovered", re.IGNORECASE))
    expect(console.page.locator("#job-head")).to_contain_text("running")
    assert console.page.evaluate("window.sameDocument") is True
    console.watch.check()
    product.stop_workers()


def test_a_hidden_tab_asks_for_nothing_and_catches_up(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "hidden-tab")
    console = visit()
    console.open("/queues")
    live = console.page.locator("#live")
    expect(live).to_have_attribute("data-state", "live")
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
      document.dispatchEvent(new Event("visibilitychange"));
    }"""

    console.page.evaluate(hide, True)
    enqueue(product, "hidden-tab")
    expect(live).to_have_attribute("data-state", "lost")
    expect(console.cell("hidden-tab", "Ready")).to_have_text("1")

    console.page.evaluate(hide, False)
    expect(console.cell("hidden-tab", "Ready")).to_have_text("2")
    expect(live).to_have_attribute("data-state", "live")
