"""What producers and workers write is shown, never obeyed."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import dead_job
from e2e.product import Product
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
    "😀" * 40,
    "a" * 90,
]


@pytest.mark.usefixtures("worker")
def test_names_and_texts_of_jobs_do_nothing(visit: Callable[..., Console], product: Product) -> None:
    for text in HOSTILE:
        product.store.run(planted({text: [text]}, queue="hostile", type=text[:30], tags=(text[:16],)))
    shouting = dead_job(product, "hostile", payload={"message": "".join(HOSTILE)[:200]})
    console = visit(width=360)

    for path in ("/queues/hostile?state=dead", f"/jobs/{shouting}", "", "/workers"):
        console.open(path)
        expect(console.page.locator("#live")).to_have_attribute("data-state", "live")
        expect(console.page.get_by_role("heading", name="taken over")).to_have_count(0)
        assert console.page.locator("main script, main img, main [onerror], main [onload]").count() == 0
        console.watch.check()
    console.open("/queues/hostile?state=dead")
    for number in range(len(HOSTILE)):
        console.page.locator("tbody td.title a").nth(number).click()
        expect(console.page.locator("#payload")).to_be_visible()
        console.watch.check_rules()
        console.page.go_back()
