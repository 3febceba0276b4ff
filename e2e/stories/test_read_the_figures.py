"""From a notice to its cause: what grows, which type fails, how long jobs take; with and without script."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue, wait_for_state
from e2e.product import Product, running
from leaseforge.jobs import JobState
from tests.support import eventually_sync


@pytest.fixture(scope="module")
def ailing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """An installation of its own, whose payment jobs all fail and whose counters have been swept together."""
    with running(tmp_path_factory.mktemp("ailing")) as product:
        product.start_worker()
        enqueue(product, "pay", count=5, type="fail", payload={"message": "no answer"}, max_attempts=1)
        enqueue(product, "mail", count=20)
        [last] = enqueue(product, "pay", type="fail", payload={"message": "no answer"}, max_attempts=1)
        wait_for_state(product, last, JobState.DEAD)
        yield product


def growing(console: Console) -> bool:
    """Whether the Overview, loaded anew, tells that dead letters grow: it takes a sweep of the counters."""
    console.open()
    return console.page.locator("#notices").get_by_text("Dead letters grow").count() > 0


def test_a_notice_leads_to_the_cause_and_the_figures_tell_it(visit: Callable[..., Console], ailing: Product) -> None:
    console = visit(at=ailing)
    eventually_sync(lambda: growing(console), within_s=60.0, every_s=2.0)
    notice = console.page.locator("#notices .notice").filter(has_text="Dead letters grow")
    expect(notice).to_contain_text("fail: 6 jobs in pay died")
    row = console.page.locator("#types tbody tr").filter(has_text="fail")
    expect(row).to_contain_text("100 %")
    console.watch.check()
    notice.get_by_role("link").click()
    expect(console.heading()).to_contain_text("Dead letters")

    console.go_to("Metrics")
    expect(console.page.locator("#types")).to_contain_text("echo")
    chart = console.page.locator("#histogram .chart")
    chart.focus()
    console.page.keyboard.press("Home")
    expect(chart.locator(".tip")).to_contain_text("under 1 ms")
    console.page.keyboard.press("ArrowRight")
    expect(chart.locator(".tip")).to_contain_text("1 ms to 2 ms")
    console.watch.check()
    console.page.locator("#queues").get_by_role("link", name="pay").click()
    expect(console.page.locator("#summary")).to_have_text("queue pay")
    expect(console.page.locator("#types")).not_to_contain_text("echo")


def test_figures_are_asked_for_without_script(visit: Callable[..., Console], ailing: Product) -> None:
    console = visit(at=ailing, scripted=False, width=360, anew=True)
    console.open("/metrics")

    console.page.get_by_label("Queue", exact=True).fill("mail")
    console.page.get_by_role("button", name="Show").click()
    expect(console.page.locator("#summary")).to_have_text("queue mail")
    console.page.get_by_role("link", name="24 h").click()
    expect(console.page.locator("#summary")).to_have_text("queue mail")
    expect(console.page.get_by_role("link", name="24 h")).to_have_attribute("aria-current", "true")
    console.page.locator("#throughput summary").click()
    expect(console.page.locator("#throughput table")).to_be_visible()
    console.open("/system")
    expect(console.page.locator("#servers")).to_contain_text("noeviction")
