"""Over a slow line scripts arrive one by one: the page is live all the same."""

import time
from collections.abc import Callable

from playwright.sync_api import Route

from e2e.console import Console


def test_a_page_becomes_live_whichever_script_comes_last(visit: Callable[..., Console]) -> None:
    def late(route: Route) -> None:
        time.sleep(1)
        route.continue_()

    console = visit()
    for script in ("hx-sse.min.js", "session.js", "htmx.min.js"):
        console.page.route(f"**/{script}", late)
        with console.page.expect_request("**/console/live/queues*"):
            console.open("/queues")
        console.page.unroute(f"**/{script}")
    console.watch.check()
