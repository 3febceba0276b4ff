"""What producers, workers and other operators write is shown, never obeyed, and fits on the screen."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import dead_job
from e2e.product import Product
from leaseforge import bulk, exchanges
from leaseforge.bulk_records import BulkAction, BulkFilter, BulkOrder, BulkState
from leaseforge.jobs import JobState
from leaseforge.workers import WorkerState
from tests.api.support import worker_report
from tests.support import eventually_sync
from tests.support.planting import planted

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "<hx-partial hx-target='body'>gone</hx-partial>",
    "</pre></section><h1>taken over</h1>",
    "javascript:alert(1)",
    "\u202egnp.exe\u2066",
    "😀" * 30,
    "W" * 90,
]
OPERATION = "fedcba9876543210fedcba9876543210"
WORKER = '"><svg/onload=alert(1)>' + "W" * 30
_NOT_OURS = "main script, main img, main iframe, main [onerror], main [onload], main [onfocus], main [style]"


def furnish(product: Product) -> list[str]:
    """Jobs, a worker and an operation with these texts wherever a text may be; the pages that show them."""
    for number, text in enumerate(HOSTILE):
        told: dict[str, Any] = {"payload": {text: [text], "password": text}, "type": text, "tags": (text[:16],)}
        product.store.run(planted(queue="hostile-waiting", unique_key=text, **told))
        product.store.run(planted(queue="hostile-later", delay_ms=3_600_000 + number, **told))
    shout = "".join(HOSTILE)[:400]
    dead = dead_job(product, "hostile", payload={"message": shout, "password": shout})
    heard: dict[str, Any] = {"types": tuple(HOSTILE), "version": "<b>1</b>", "state": WorkerState.QUIET}
    report = replace(worker_report(WORKER), host=shout[:60], ttl_ms=600_000, **heard)
    product.store.run(exchanges.register_worker(report))
    of = BulkFilter("hostile", JobState.DEAD)
    product.store.run(bulk.create(OPERATION, BulkOrder(BulkAction.RETRY, of, created_by=shout[:60], reason=shout)))
    eventually_sync(lambda: product.store.run(bulk.show(OPERATION)).state is BulkState.READY, within_s=30.0)
    job = f"/jobs/{dead}"
    asked = [f"/jobs?{urlencode({'type': text})}" for text in HOSTILE[:3]]
    return [
        *("", "/queues", "/queues/hostile-waiting", "/queues/hostile?state=dead", "/jobs", *asked),
        *("/delayed", "/dead", "/dead/jobs", f"/find?{urlencode({'q': HOSTILE[1]})}"),
        *(job, f"{job}/edit", f"{job}/reveal", f"{job}/delete", f"/jobs/new?like={dead}"),
        *("/workers", f"/workers/{quote(WORKER, safe='')}", f"/workers/{quote(WORKER, safe='')}/stop"),
        *("/operations", f"/operations/{OPERATION}", "/metrics", "/views", "/audit", "/account"),
    ]


@pytest.mark.timeout(400)
def test_no_page_obeys_and_none_is_wider_than_the_screen(visit: Callable[..., Console], product: Product) -> None:
    product.start_worker(queues="hostile")
    pages = furnish(product)
    wide = visit()
    for text in HOSTILE[:2]:
        wide.open(f"/jobs?{urlencode({'type': text})}")
        wide.page.get_by_text("Save this view").click()
        wide.page.get_by_label("Name of the view").fill(text)
        wide.page.get_by_role("button", name="Save", exact=True).click()
        expect(wide.page.get_by_role("navigation", name="Saved views")).to_contain_text(text)
    wide.open("/queues")
    wide.pause("hostile-waiting", reason="".join(HOSTILE)[:200])
    wide.expect_told("Paused")

    for console in (wide, visit(width=360)):
        for path in pages:
            console.open(path)
            expect(console.heading()).to_be_visible()
            expect(console.page.get_by_role("heading", name="taken over")).to_have_count(0)
            assert console.page.locator(_NOT_OURS).count() == 0, path
            console.watch.check_rules()
        console.open("/queues/hostile?state=dead")
        expect(console.page.locator("#live")).to_have_attribute("data-state", "live")
        console.watch.check()
        console.page.locator("tbody td.title a").first.click()
        expect(console.page.locator("#payload")).to_be_visible()
        console.watch.check()
    product.stop_workers()
    product.store.run(exchanges.deregister_worker(WORKER, ["default"]))
