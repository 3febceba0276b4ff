"""All jobs, narrowed through the form; delayed ones, let go early or cancelled."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, enqueue, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState

SCRIPT = pytest.mark.parametrize("scripted", [True, False], ids=["script", "no-script"])


@SCRIPT
def test_a_job_is_found_by_queue_state_and_tag(visit: Callable[..., Console], product: Product, scripted: bool) -> None:
    queue = f"looked-{'live' if scripted else 'plain'}"
    [wanted] = enqueue(product, queue, tags=("vip",))
    enqueue(product, queue, count=3)
    enqueue(product, queue, delay_ms=3_600_000)
    console = visit(scripted=scripted)
    page, rows = console.page, console.page.locator("#jobs tbody tr")

    console.go_to("Jobs")
    page.get_by_label("Queue", exact=True).select_option(queue)
    page.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(5)
    console.watch.check()
    page.locator("#tabs").get_by_role("link", name="Ready").click()
    expect(rows).to_have_count(4)
    page.get_by_label("Tag").fill("vip")
    page.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(1)
    expect(page.locator("footer")).to_contain_text("1 found · searched 4 of 4 jobs")
    console.watch.check()
    rows.get_by_role("link").first.click()
    expect(page).to_have_url(f"{console.url}/console/jobs/{wanted}")


@pytest.mark.parametrize("width", [1440, 1024, 800])
def test_the_buttons_of_a_row_are_in_sight(visit: Callable[..., Console], product: Product, width: int) -> None:
    [job_id] = enqueue(product, f"wide-{width}", type="a_type_with_a_rather_long_name", delay_ms=3_600_000)
    console = visit(width=width)
    console.open(f"/delayed?queue=wide-{width}")

    cancel = console.page.locator(f"#job-{job_id}").get_by_role("link", name="Cancel…")
    panel = console.page.locator("main .panel").bounding_box()
    button = cancel.bounding_box()
    assert panel is not None
    assert button is not None
    assert button["x"] + button["width"] < panel["x"] + panel["width"]


def test_the_list_moves_while_somebody_looks(visit: Callable[..., Console], product: Product) -> None:
    enqueue(product, "wandering")
    console = visit(width=360)
    console.open("/jobs?queue=wandering")
    rows = console.page.locator("#jobs tbody tr")
    expect(rows).to_have_count(1)
    console.watch.check()

    console.page.get_by_text("Filters: wandering").click()
    console.page.get_by_label("Tag").focus()
    enqueue(product, "wandering", count=2)

    expect(rows).to_have_count(3)
    expect(console.page.get_by_label("Tag")).to_be_focused()


@SCRIPT
def test_a_delayed_job_is_let_go_and_another_cancelled(
    visit: Callable[..., Console], product: Product, scripted: bool
) -> None:
    queue = f"later-{'live' if scripted else 'plain'}"
    first, second = enqueue(product, queue, count=2, delay_ms=3_600_000)
    console = visit(scripted=scripted)
    page = console.page

    console.go_to("Delayed")
    page.get_by_label("Queue", exact=True).select_option(queue)
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#delayed tbody tr")).to_have_count(2)
    expect(page.locator(f"#job-{first}")).to_contain_text("due in 59 min")
    console.watch.check()

    page.locator(f"#job-{first}").get_by_role("button", name="Run now").click()
    console.expect_told("is ready to run")
    expect(page.locator("#delayed tbody tr")).to_have_count(1)
    wait_for_state(product, first, JobState.READY)
    page.locator(f"#job-{second}").get_by_role("link", name="Cancel…").click()
    asked = console.dialog if scripted else page.locator("#confirm")
    expect(asked).to_contain_text("This cancels one job")
    console.watch.check()
    asked.get_by_label("Reason").fill("ordered twice")
    asked.get_by_role("button", name="Cancel the job").click()
    console.expect_told("it will not run")
    assert count(product, queue, JobState.CANCELLED) == 1
    if scripted:
        expect(page.get_by_text("No delayed job matches")).to_be_visible()
        console.watch.check()
