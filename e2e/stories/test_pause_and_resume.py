"""Pausing a queue: claims stop, what runs goes on, resuming lets them go on."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from e2e.console import Console
from e2e.producing import count, enqueue, wait_for_state
from e2e.product import Product
from leaseforge.jobs import JobState


@pytest.mark.usefixtures("worker")
def test_claims_stop_while_a_queue_is_paused(visit: Callable[..., Console], product: Product) -> None:
    [first] = enqueue(product, "pausing")
    wait_for_state(product, first, JobState.COMPLETED)
    console = visit()
    console.open("/queues")

    console.pause("pausing", reason="the provider is down")
    console.expect_told("Paused pausing")
    expect(console.dialog).to_have_count(0)
    enqueue(product, "pausing", count=4)
    [elsewhere] = enqueue(product, "unpaused")
    wait_for_state(product, elsewhere, JobState.COMPLETED)
    assert count(product, "pausing", JobState.READY) == 4
    expect(console.cell("pausing", "Ready")).to_have_text("4")
    console.watch.check()

    console.resume("pausing")
    console.expect_told("Resumed pausing")
    expect(console.cell("pausing", "Completed")).to_have_text("5")
    expect(console.queue_row("pausing")).not_to_contain_text("paused")
