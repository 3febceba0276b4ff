"""An operator looks at one worker, keeps it from new work, lets it go on, and stops it."""

from collections.abc import Callable

from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import enqueue, running_worker, wait_for_state
from e2e.product import Product
from leaseforge import operations, reads
from leaseforge.jobs import JobState
from tests.support import eventually_sync


def wait_until_gone(product: Product, worker_id: str) -> None:
    def gone() -> bool:
        return all(one.id != worker_id for one in product.store.run(reads.all_workers()))

    eventually_sync(gone, within_s=30.0, every_s=0.1)


def test_a_worker_is_quieted_resumed_and_stopped(visit: Callable[..., Console], product: Product) -> None:
    product.start_worker(queues="held")
    try:
        worker_id = running_worker(product)
        [running] = enqueue(product, "held", type="sleep", payload={"duration_ms": 600_000})
        wait_for_state(product, running, JobState.RUNNING)
        console = visit()
        console.open("/workers")
        console.page.locator(f"#worker-{worker_id} a").first.click()
        lease = console.page.locator(f"#lease-{running}")
        expect(lease.locator("[data-label='Lease left']")).to_contain_text(" s")
        expect(lease.locator("[data-label='Attempt']")).to_have_text("1")
        console.watch.check()

        console.page.get_by_role("button", name="Quiet").click()
        console.expect_told("to be quiet")
        expect(console.heading()).to_contain_text("quiet")
        console.watch.check()
        [waiting] = enqueue(product, "held")
        console.page.get_by_role("button", name="Resume").click()
        console.expect_told("to resume")
        expect(console.heading()).to_contain_text("running")
        wait_for_state(product, waiting, JobState.COMPLETED)

        console.page.get_by_role("link", name="Stop…").click()
        expect(console.dialog).to_contain_text("It runs 1 job now.")
        console.watch.check()
        console.dialog.get_by_label("Reason").fill("an old version")
        with console.watch.expecting(404):
            console.dialog.get_by_role("button", name="Stop the worker").click()
            expect(console.dialog).to_have_count(0)
            expect(console.heading()).to_contain_text("No such worker")
        wait_until_gone(product, worker_id)
        wait_for_state(product, running, JobState.READY)
        product.store.run(operations.delete(running))
    finally:
        product.stop_workers()


def test_a_worker_is_stopped_without_script(visit: Callable[..., Console], product: Product) -> None:
    product.start_worker(queues="held")
    try:
        worker_id = running_worker(product)
        console = visit(scripted=False, width=360)
        console.open(f"/workers/{worker_id}")
        expect(console.page.get_by_text("It runs nothing at this moment")).to_be_visible()

        console.page.get_by_role("link", name="Stop…").click()
        console.page.get_by_role("button", name="Stop the worker").click()

        console.expect_told("to stop")
        wait_until_gone(product, worker_id)
        with console.watch.expecting(404):
            console.open(f"/workers/{worker_id}")
            expect(console.heading()).to_contain_text("No such worker")
    finally:
        product.stop_workers()
