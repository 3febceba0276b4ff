"""Purging: the count comes first, and what was counted is all that goes."""

from collections.abc import Callable

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, enqueue
from e2e.product import Product
from leaseforge.jobs import JobState


def test_a_late_arrival_is_not_touched(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "purged", count=12)
    console = visit()
    console.open("/queues")

    console.purge("purged")
    expect(console.dialog).to_contain_text("12 ready jobs")
    expect(console.dialog).to_contain_text("purged")
    console.watch.check()
    [late] = enqueue(product, "purged")
    console.dialog.get_by_role("button", name="Purge 12 jobs").click()

    console.expect_told("Purged 12 ready jobs of purged")
    expect(console.dialog).to_have_count(0)
    expect(console.page).to_have_url(f"{console.url}/console/queues")
    expect(console.cell("purged", "Ready")).to_have_text("1")
    console.open("/queues/purged?state=ready")
    expect(console.page.locator(f"#job-{late}")).to_be_visible()


def test_more_than_a_thousand_ask_for_a_typed_word(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "heaped", count=1001)
    console = visit()
    console.open("/queues/heaped")

    console.page.get_by_role("link", name="Purge…").click()
    word = console.dialog.get_by_label("Type purge to confirm")
    expect(word).to_be_focused()
    word.fill("purr")
    with console.watch.expecting(422):
        console.dialog.get_by_role("button", name="Purge 1,001 jobs").click()
        expect(console.dialog).to_contain_text("Type the word purge to confirm.")
    console.watch.check()
    assert count(product, "heaped", JobState.READY) == 1001

    word.fill("purge")
    console.dialog.get_by_role("button", name="Purge 1,001 jobs").click()
    console.expect_told("Purged 1,001 ready jobs")
    assert count(product, "heaped", JobState.READY) == 0


def test_a_purge_can_be_called_off(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "spared", count=2)
    console = visit()
    console.open("/queues/spared")

    console.page.get_by_role("link", name="Purge…").click()
    console.dialog.get_by_role("link", name="Keep them").click()
    expect(console.dialog).to_have_count(0)
    expect(console.page.get_by_role("link", name="Purge…")).to_be_focused()

    console.page.get_by_role("link", name="Purge…").click()
    expect(console.dialog).to_be_visible()
    console.page.keyboard.press("Escape")
    expect(console.dialog).to_have_count(0)
    assert count(product, "spared", JobState.READY) == 2
