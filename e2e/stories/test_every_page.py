"""Every page in both themes, wide and narrow: accessible, within the rules, within the screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import dead_job, enqueue, running_worker, wait_for_state
from e2e.product import ADMIN, VIEWER, Product
from leaseforge.jobs import JobState

PEOPLE = [
    "/users",
    f"/users/{ADMIN[0]}",
    f"/users/{VIEWER[0]}/delete",
    "/new-user",
    "/tokens",
    "/account",
    "/account/tokens/new",
    "/account/logout",
    "/audit",
]
pytestmark = pytest.mark.usefixtures("worker")


@pytest.mark.timeout(400)
@pytest.mark.parametrize("width", [1440, 360])
def test_every_page_keeps_the_rules(visit: Callable[..., Console], product: Product, width: int) -> None:
    dead = dead_job(product, "shown")
    [done] = enqueue(product, "shown", type="generate_pdf", payload={"title": "Report"})
    wait_for_state(product, done, JobState.COMPLETED)
    enqueue(product, "shown", delay_ms=3_600_000)
    [running] = enqueue(product, "shown", type="sleep", payload={"duration_ms": 60_000})
    wait_for_state(product, running, JobState.RUNNING)
    console = visit(width=width)
    states = [f"/queues/shown?state={state.value}" for state in JobState]
    lists = ["/jobs", "/delayed", "/dead", "/dead/jobs", "/dead/jobs?type=none", "/dead/purge", f"/dead/{dead}/delete"]
    jobs = [f"/jobs/{dead}", f"/jobs/{done}", f"/jobs/{running}", f"/jobs/{running}/cancel", f"/jobs/{done}/requeue"]
    jobs += [f"/jobs/{dead}/edit", f"/jobs/{dead}/reveal", "/jobs/new", f"/jobs/new?like={dead}"]
    worker = running_worker(product)
    figures = [
        "/metrics",
        "/metrics?queue=shown&order=failing",
        "/system",
        f"/workers/{worker}",
        f"/workers/{worker}/stop",
    ]

    for path in [
        "",
        "/queues",
        "/queues/shown?state=dead",
        *jobs,
        "/workers",
        "/find",
        "/queues/shown/purge",
        *lists,
        *figures,
        *PEOPLE,
    ]:
        console.open(path)
        expect(console.heading()).to_be_visible()
        console.watch.check()
    for path in ["?seconds=3600", "/metrics?seconds=3600", "/metrics?seconds=604800", *states]:
        console.open(path)
        expect(console.heading()).to_be_visible()
        console.watch.check_rules()
    for missing in ("/nothing/here", "/queues/never", "/jobs/not-an-id", "/workers/nobody", "/metrics?queue=never"):
        with console.watch.expecting(404):
            console.open(missing)
            expect(console.heading()).to_contain_text("No such")
        console.watch.check()
