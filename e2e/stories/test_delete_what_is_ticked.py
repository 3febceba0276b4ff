"""Some jobs of a list are ticked, with the mouse and by keyboard, and deleted; the others stay."""

from collections.abc import Callable

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, enqueue
from e2e.product import Product
from leaseforge.jobs import JobState
from tests.support import eventually_sync


def test_ticked_jobs_are_deleted_and_a_closed_dialog_leaves_nothing_behind(
    visit: Callable[..., Console], product: Product
) -> None:
    ids = enqueue(product, "drafts", count=6)
    console = visit(width=360)
    page = console.page
    console.open("/jobs?queue=drafts&state=ready")
    bar = page.locator("#pick")
    expect(bar.get_by_role("button", name="Delete…")).to_be_hidden()

    page.locator(f"#pick-{ids[0]}").check()
    page.locator(f"#pick-{ids[2]}").click(modifiers=["Shift"])
    page.locator(f"#pick-{ids[1]}").uncheck()
    enqueue(product, "drafts")
    expect(page.locator("#jobs tbody tr")).to_have_count(7)
    expect(bar.get_by_role("status")).to_have_text("2 ticked")
    console.watch.check()
    bar.get_by_role("button", name="Delete 2…").click()
    expect(console.dialog).to_contain_text("Delete 2 ready jobs?")
    console.watch.check()
    with page.expect_response("**/discard"):
        page.keyboard.press("Escape")
    console.open("/operations?state=dropped")
    expect(page.locator("#operations tbody tr").first).to_contain_text("dropped")

    console.open("/jobs?queue=drafts&state=ready")
    for job_id in (ids[0], ids[2]):
        page.locator(f"#pick-{job_id}").check()
    bar.get_by_role("button", name="Delete 2…").click()
    console.dialog.get_by_role("button", name="Delete 2 jobs").click()
    console.expect_told("Deleting 2 ready jobs.")
    expect(console.heading()).to_contain_text("done")
    console.watch.check()
    eventually_sync(lambda: count(product, "drafts", JobState.READY) == 5)
