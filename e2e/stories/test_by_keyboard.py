"""Without a mouse: every step by keys, and always visible where one is."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from e2e.console import Console
from e2e.producing import count, dead_job, enqueue
from e2e.product import ADMIN, Product
from leaseforge.jobs import JobState


def _tab_to(page: Page, name: str, *, most: int = 80) -> None:
    """Presses Tab until the named control has the focus; each stop on the way must be visible."""
    for _ in range(most):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => {
              const el = document.activeElement, box = el.getBoundingClientRect(), style = getComputedStyle(el);
              const said = el.getAttribute("aria-label") || el.textContent || "";
              const shown = box.width > 0 && box.bottom > 0 && box.top < innerHeight && style.outlineStyle !== "none";
              return {said: said.replace(/\\s+/g, " ").trim(), shown, body: el === document.body};
            }"""
        )
        assert at["body"] or at["shown"], f"the focus cannot be seen: {at}"
        if name in at["said"] and not at["body"]:
            return
    raise AssertionError(f"no way by keyboard to {name!r}")


def test_log_in_purge_and_log_out(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "aaa-keys", count=3)
    console = visit(login=None)
    page = console.page
    console.open("/queues")
    expect(page.get_by_label("Name")).to_be_focused()

    page.keyboard.type(ADMIN[0])
    page.keyboard.press("Tab")
    page.keyboard.type(ADMIN[1])
    page.keyboard.press("Enter")
    expect(console.heading()).to_have_text("Queues")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    _tab_to(page, "Purge… aaa-keys")
    page.keyboard.press("Enter")
    expect(console.dialog.get_by_role("link", name="Keep them")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    console.expect_told("Purged 3 ready jobs")
    assert count(product, "aaa-keys", JobState.READY) == 0

    page.reload()
    expect(console.heading()).to_have_text("Queues")
    _tab_to(page, "account and theme")
    page.keyboard.press("Enter")
    _tab_to(page, "Log out")
    page.keyboard.press("Enter")
    expect(console.heading()).to_have_text("Log in")


def test_values_of_the_chart_are_read_with_arrow_keys(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "charted")
    console = visit()

    console.page.locator(".chart").first.focus()
    console.page.keyboard.press("End")
    expect(console.page.locator(".tip")).to_contain_text("completed")
    last = console.page.locator(".tip").inner_text()
    console.page.keyboard.press("ArrowLeft")
    expect(console.page.locator(".tip")).not_to_have_text(last)
    console.watch.check()
    console.page.keyboard.press("Escape")
    expect(console.page.locator(".tip")).to_have_count(0)


@pytest.mark.parametrize("last", [False, True], ids=["more", "last"])
def test_a_row_that_leaves_hands_the_focus_on(visit: Callable[..., Console], product: Product, last: bool) -> None:
    queue = f"leaving-{'last' if last else 'more'}"
    product.start_worker(queues=queue)
    ids = [dead_job(product, queue) for _ in range(1 if last else 2)]
    product.stop_workers()
    console = visit()
    page = console.page
    console.open(f"/dead/jobs?queue={queue}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")

    page.locator(f"#job-{ids[-1]}").get_by_role("button", name="Retry").focus()
    page.keyboard.press("Enter")

    console.expect_told("Put back")
    expect(page.locator("#dead-jobs tbody tr")).to_have_count(len(ids) - 1)
    expect(page.locator("#main" if last else f"#job-{ids[0]} a").first).to_be_focused()
