"""The server is killed and starts again in the middle of an operation: the open tab goes on showing it to its end."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import dead_jobs, pause
from e2e.product import Product
from leaseforge import reads


@pytest.mark.usefixtures("worker")
def test_an_operation_goes_on_after_the_server_was_killed(visit: Callable[..., Console], product: Product) -> None:
    ids = dead_jobs(product, "exports", 60)
    pause(product, ["exports"])
    console = visit()
    page = console.page
    console.open("/dead?queue=exports")
    page.get_by_role("button", name="Retry 60…").click()
    console.dialog.get_by_label("Jobs a second, at most").fill("5")
    console.dialog.get_by_role("button", name="Retry 60 jobs").click()
    expect(console.heading()).to_contain_text("running")

    with console.watch.server_may_be_away():
        product.kill_server()
        expect(page.locator("#live")).to_have_attribute("data-state", "lost")
        product.restart_server()
        expect(page.locator("#live")).to_have_attribute("data-state", "live")

    expect(console.heading()).to_contain_text("done")
    expect(page.get_by_role("region", name="Progress")).to_contain_text("60 of 60")
    console.watch.check()
    assert [product.store.run(reads.job(job_id)).replays for job_id in ids] == [1] * 60
