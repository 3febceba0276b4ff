"""A viewer sees everything but payloads, finds no buttons, and is refused all the same."""

import re
from collections.abc import Callable, Iterator

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, dead_job, enqueue, running_worker
from e2e.product import ADMIN, VIEWER, Product
from leaseforge import bulk
from leaseforge.bulk_records import BulkAction, BulkFilter, BulkOrder, BulkState
from leaseforge.jobs import JobState
from leaseforge_auth.roles import Role
from tests.api.test_routes import CLOSED as PROTECTED
from tests.api.test_routes import Route
from tests.support import eventually_sync

CLOSED = [route for route in PROTECTED if route.is_console and not route.is_open_to(Role.VIEWER)]
OPERATION = "0123456789abcdef0123456789abcdef"
_LEADS_TO = """() => {
  const found = new Set();
  for (const one of document.querySelectorAll("[href], [action], [formaction], [hx-get], [hx-post]")) {
    const method = one.method || "get";
    for (const name of ["href", "action", "formaction", "hx-get", "hx-post"]) {
      if (one.hasAttribute(name)) {
        const at = new URL(one.getAttribute(name), document.baseURI);
        found.add(`${name === "hx-post" ? "post" : name === "hx-get" ? "get" : method} ${at.pathname}`);
      }
    }
  }
  return [...found];
}"""
_POST = """([path, token]) => fetch(path, {
  method: "POST", body: new URLSearchParams({_csrf: token}), redirect: "manual",
}).then((answer) => answer.status)"""


def by_hand(route: Route) -> str:
    """An address of the route, whatever its parameters are called."""
    return re.sub(r"\{[^}]+\}", "looked-at", route.path)


def closed_to_viewers(found: list[str]) -> Iterator[str]:
    """Those of what a page leads to that no viewer may ask for."""
    for each in found:
        method, _, path = each.partition(" ")
        alike = [route for route in PROTECTED if route.method == method.upper() and _pattern(route).fullmatch(path)]
        # Of several the one with the fewest parameters answers.
        if alike and min(alike, key=lambda route: route.template.count("{")) in CLOSED:
            yield each


def _pattern(route: Route) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{[^}]+\\\}", "[^/]+", re.escape(route.template)))


def everything_there_is(product: Product) -> list[str]:
    """Pages a viewer may open, each with something on it that others may act on."""
    product.start_worker(queues="looked-at-dead")
    dead = dead_job(product, "looked-at-dead", payload={"password": "for nobody"})
    [waiting, *_] = enqueue(product, "looked-at", count=3, payload={"private note": "for operators"})
    enqueue(product, "looked-at-later", delay_ms=3_600_000)
    order = BulkOrder(BulkAction.RETRY, BulkFilter("looked-at-dead", JobState.DEAD), created_by=ADMIN[0])
    product.store.run(bulk.create(OPERATION, order))
    eventually_sync(lambda: product.store.run(bulk.show(OPERATION)).state is BulkState.READY, within_s=30.0)
    jobs = [f"/jobs/{dead}", f"/jobs/{waiting}"]
    lists = ["/jobs", "/dead", "/dead/jobs", "/delayed", "/operations", f"/operations/{OPERATION}"]
    queues = ["/queues", "/queues/looked-at", "/queues/looked-at-dead?state=dead"]
    return ["", *queues, *jobs, *lists, "/workers", f"/workers/{running_worker(product)}", "/metrics", "/account"]


def test_there_are_no_buttons_and_no_way_around_them(visit: Callable[..., Console], product: Product) -> None:
    pages = everything_there_is(product)
    console, administrator = visit(login=VIEWER), visit()

    offered: set[str] = set()
    for path in pages:
        console.open(path)
        expect(console.heading()).to_be_visible()
        assert not list(closed_to_viewers(console.page.evaluate(_LEADS_TO))), path
        assert "for operators" not in console.page.content()
        assert "for nobody" not in console.page.content()
        console.watch.check_rules()
        administrator.open(path)
        offered.update(closed_to_viewers(administrator.page.evaluate(_LEADS_TO)))
    # What was looked for is there for others.
    for button in ("/edit", "/reveal", "/jobs/new", "/settings", "/operations", "/run", "/pause", "/purge", "/stop"):
        assert any(each.endswith(button) for each in offered), button
    console.open(next(path for path in pages if path.startswith("/jobs/")))
    expect(console.page.get_by_role("region", name="Payload")).to_contain_text("may not read payloads")
    console.watch.check()

    token = console.page.locator("input[name=_csrf]").first.input_value()
    posts = [route for route in CLOSED if route.method == "POST"]
    assert len(posts) > 25
    with console.watch.expecting(403):
        for route in posts:
            assert console.page.evaluate(_POST, [by_hand(route), token]) == 403, str(route)
        console.open("/queues/looked-at/purge")
        expect(console.heading()).to_have_text("Not for your role")
    console.watch.check()
    assert count(product, "looked-at", JobState.READY) == 3
    assert count(product, "looked-at-dead", JobState.DEAD) == 1
    product.stop_workers()
