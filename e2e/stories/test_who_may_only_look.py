"""A viewer sees everything but payloads, finds no buttons, and is refused all the same."""

from collections.abc import Callable

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, enqueue
from e2e.product import VIEWER, Product
from leaseforge.jobs import JobState


def test_there_are_no_buttons_and_no_way_around_them(visit: Callable[..., Console], product: Product) -> None:
    [job_id, *_] = enqueue(product, "looked-at", count=3, payload={"private note": "for operators"})
    console = visit(login=VIEWER)

    console.open("/queues")
    expect(console.queue_row("looked-at")).to_be_visible()
    expect(console.page.get_by_role("link", name="Pause")).to_have_count(0)
    expect(console.page.get_by_role("link", name="Purge…")).to_have_count(0)
    console.watch.check()
    console.open(f"/jobs/{job_id}")
    expect(console.page.get_by_role("region", name="Payload")).to_contain_text("may not read payloads")
    assert "for operators" not in console.page.content()
    expect(console.page.get_by_role("link", name="Delete…")).to_have_count(0)

    token = console.page.locator("input[name=_csrf]").first.input_value()
    with console.watch.expecting(403):
        status = console.page.evaluate(
            """(token) => fetch("/console/queues/looked-at/pause", {
                 method: "POST", body: new URLSearchParams({_csrf: token}), redirect: "manual",
               }).then((answer) => answer.status)""",
            token,
        )
        assert status == 403
        console.open("/queues/looked-at/purge")
        expect(console.heading()).to_have_text("Not for your role")
    console.watch.check()
    assert count(product, "looked-at", JobState.READY) == 3
