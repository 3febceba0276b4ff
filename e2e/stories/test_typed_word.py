"""More than a thousand jobs go only when a word is typed; the server insists on it."""

from collections.abc import Callable

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, enqueue
from e2e.product import Product
from leaseforge.jobs import JobState
from tests.support import eventually_sync


def test_a_word_is_typed_before_1001_jobs_are_cancelled(visit: Callable[..., Console], product: Product) -> None:
    for number in (1000, 1):
        enqueue(product, "newsletter", count=number)
    console = visit()
    page = console.page
    console.open("/jobs?queue=newsletter&state=ready")

    page.get_by_label("All 1,001 jobs that match").check()
    page.get_by_role("button", name="Cancel all…").click()
    word = console.dialog.get_by_label("Type cancel to confirm")
    expect(word).to_be_focused()
    console.watch.check()
    word.fill("yes")
    with console.watch.expecting(422):
        console.dialog.get_by_role("button", name="Cancel 1,001 jobs").click()
        expect(console.dialog).to_contain_text("Type the word cancel to confirm.")
    console.watch.check()
    word.fill("cancel")
    console.dialog.get_by_role("button", name="Cancel 1,001 jobs").click()

    expect(page.get_by_role("region", name="Progress")).to_contain_text("1,001 of 1,001")
    eventually_sync(lambda: count(product, "newsletter", JobState.CANCELLED) == 1001)
