"""Watching: the page follows what happens without being loaded again, and says when it cannot."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import Product


def test_a_queue_is_seen_moving(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "moving", count=5)
    console = visit()
    console.open("/queues")
    expect(console.cell("moving", "Ready")).to_have_text("5")
    console.page.evaluate("window.sameDocument = true")

    enqueue(product, "moving", count=7)
    expect(console.cell("moving", "Ready")).to_have_text("12")
    product.start_worker(queues="moving")
    expect(console.cell("moving", "Completed")).to_have_text("12")
    product.stop_workers()

    assert console.page.evaluate("window.sameDocument") is True
    console.watch.check()


def test_the_overview_says_first_what_is_wrong(visit: Callable[..., Console], product: Product) -> None:
    console = visit()

    enqueue(product, "orphaned", count=3)

    notices = console.page.get_by_role("region", name="Needs attention")
    expect(notices).to_contain_text("No worker")
    expect(console.page.locator("#stats")).to_contain_text("ready")
    console.watch.check()


@pytest.mark.usefixtures("worker")
def test_what_is_open_and_focused_stays_so(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "steady", type="sleep", payload={"duration_ms": 60_000})
    console = visit()
    console.open("/workers")
    expect(console.page.locator("details[id^=running-]")).to_be_visible()
    console.page.locator("details[id^=running-] summary").click()
    console.page.locator("details[id^=running-] summary").focus()
    first = console.page.locator("details[id^=running-] li").first.inner_text()

    expect(console.page.locator("details[id^=running-] li").first).not_to_have_text(first)

    expect(console.page.locator("details[id^=running-]")).to_have_attribute("open", "")
    expect(console.page.locator("details[id^=running-] summary")).to_be_focused()


def test_updates_can_be_held(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "held", count=1)
    console = visit()
    console.open("/queues")
    live = console.page.locator("#live")
    expect(live).to_have_attribute("data-state", "live")

    console.page.get_by_role("button", name="Pause updates").click()
    expect(live).to_have_attribute("data-state", "held")
    enqueue(product, "held", count=1)
    with console.page.expect_event("console", lambda line: line.text == "beat passed") as _:
        console.page.evaluate(
            "document.getElementById('live').addEventListener('beat', () => console.log('beat passed'), {once: true})"
        )
    expect(console.cell("held", "Ready")).to_have_text("1")

    console.page.get_by_role("button", name="Resume updates").click()
    expect(console.cell("held", "Ready")).to_have_text("2")


def test_a_lost_connection_is_shown_and_recovers(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "outage", count=1)
    console = visit()
    console.open("/queues")
    live = console.page.locator("#live")
    expect(live).to_have_attribute("data-state", "live")

    with console.watch.server_may_be_away():
        product.kill_server()
        expect(live).to_have_attribute("data-state", "lost", timeout=20_000)
        expect(live).to_contain_text("Offline")
        enqueue(product, "outage", count=1)
        product.restart_server()
        expect(live).to_have_attribute("data-state", "live", timeout=20_000)

    expect(console.cell("outage", "Ready")).to_have_text("2")
    expect(console.page.locator("#live-age")).to_have_text(re.compile(r"\d s"))
