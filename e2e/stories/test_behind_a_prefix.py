"""Under a path prefix every link, form, redirect and stream carries it."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue
from e2e.product import Product, running


@pytest.fixture(scope="module")
def prefixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with running(tmp_path_factory.mktemp("prefixed"), environment="staging", root_path="/jobs") as product:
        yield product


def test_the_console_works_under_a_prefix(visit: Callable[..., Console], prefixed: Product) -> None:
    console = visit(at=prefixed)
    assert console.page.url == f"{prefixed.url}/console"
    expect(console.page.get_by_text("No job has been submitted yet")).to_be_visible()
    console.watch.check()
    enqueue(prefixed, "behind", count=2)
    expect(console.page.get_by_role("region", name="Needs attention")).to_contain_text("No worker is running")
    expect(console.page.locator("#live")).to_have_attribute("data-state", "live")

    console.go_to("Queues")
    console.pause("behind")
    console.expect_told("Paused behind")
    console.purge("behind")
    console.dialog.get_by_role("button", name="Purge 2 jobs").click()
    console.expect_told("Purged 2 ready jobs")
    expect(console.page).to_have_url(f"{prefixed.url}/console/queues")
    console.watch.check()
