"""Two operators see the same group and both replay it: each is told the truth, and no job is replayed twice."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import dead_jobs, pause, states
from e2e.product import OPERATOR, Product
from leaseforge import reads
from leaseforge.jobs import JobState
from tests.support import eventually_sync


@pytest.mark.usefixtures("worker")
def test_the_second_is_told_who_was_faster_and_takes_what_is_left(
    visit: Callable[..., Console], product: Product
) -> None:
    ids = dead_jobs(product, "refunds", 60)
    pause(product, ["refunds"])
    anna, ben = visit(login=OPERATOR), visit()
    for window in (anna, ben):
        window.open("/dead?queue=refunds")
        window.page.get_by_role("button", name="Retry 60…").click()
        expect(window.dialog).to_contain_text("Retry 60 dead jobs?")

    anna.dialog.get_by_label("Jobs a second, at most").fill("1")
    anna.dialog.get_by_role("button", name="Retry 60 jobs").click()
    expect(anna.heading()).to_contain_text("running")
    with ben.watch.expecting(422):
        ben.dialog.get_by_role("button", name="Retry 60 jobs").click()
        expect(ben.dialog).to_contain_text("Already being retried by anna")
    ben.watch.check()
    ben.dialog.get_by_label("Jobs a second, at most").fill("1000")
    ben.dialog.get_by_role("button", name="Retry 60 jobs").click()

    expect(ben.heading()).to_contain_text("done")
    expect(ben.page.get_by_role("region", name="Progress")).to_contain_text("60 of 60")
    expect(ben.page.locator("#operation-notes")).to_contain_text("anna")
    eventually_sync(lambda: states(product, ids) == [JobState.READY] * 60)
    anna.page.get_by_role("link", name="Abort…").click()
    anna.dialog.get_by_role("button", name="Abort", exact=True).click()
    expect(anna.dialog).to_have_count(0)
    expect(anna.heading()).to_contain_text("aborted")
    assert [product.store.run(reads.job(job_id)).replays for job_id in ids] == [1] * 60
