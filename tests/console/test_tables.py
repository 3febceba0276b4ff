"""Tables that are looked through by their address: what matches, in which order, which page."""

from typing import Any

import pytest

from leaseforge import operations
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge.workers import WorkerState
from leaseforge_console.views import queues, workers
from leaseforge_console.views.tables import Look
from tests.api.support import report_worker
from tests.console import sample
from tests.console.browsing import Visitor, words

SNAPSHOT = sample.snapshot(
    sample.queue("mail", ready=5, oldest_s=9.0),
    sample.queue("mail-bulk", ready=70, paused=True, oldest_s=400.0),
    sample.queue("billing", dead=3),
    sample.worker("billing", id="w1", host="a", slots=4),
    sample.worker("mail", id="w2", host="b", rss_bytes=9, running=(sample.run("j", 3),)),
    sample.worker("*", id="rack/9", host="c", state=WorkerState.LOST),
)


@pytest.mark.parametrize(
    ("look", "names"),
    [
        (Look(), ["billing", "mail", "mail-bulk"]),
        (Look(sort="-name"), ["mail-bulk", "mail", "billing"]),
        (Look(sort="ready"), ["mail-bulk", "mail", "billing"]),
        (Look(sort="-ready"), ["billing", "mail", "mail-bulk"]),
        (Look(sort="oldest"), ["mail-bulk", "mail", "billing"]),
        (Look(find="AIL-"), ["mail-bulk"]),
        (Look(only="paused"), ["mail-bulk"]),
        (Look(only="unserved"), ["mail"]),
        (Look(only="dead"), ["billing"]),
        (Look(find="x"), []),
        (Look(only="nonsense", sort="nonsense", offset=500), ["billing", "mail", "mail-bulk"]),
    ],
)
def test_queues_are_narrowed_and_sorted(look: Look, names: list[str]) -> None:
    snapshot = sample.snapshot(*SNAPSHOT.queues, sample.worker("billing"))

    assert [row.name for row in queues.build(snapshot, look).rows] == names


@pytest.mark.parametrize(
    ("look", "ids"),
    [
        (Look(), ["rack/9", "w1", "w2"]),
        (Look(sort="worker"), ["w1", "w2", "rack/9"]),
        (Look(sort="busy"), ["w2", "rack/9", "w1"]),
        (Look(sort="-memory"), ["w2", "w1", "rack/9"]),
        (Look(find="RACK"), ["rack/9"]),
        (Look(find="billing"), ["w1"]),
        (Look(only="lost"), ["rack/9"]),
    ],
)
def test_workers_are_narrowed_and_sorted(look: Look, ids: list[str]) -> None:
    assert [row.id for row in workers.build(SNAPSHOT, look).rows] == ids


def test_heads_lead_to_their_order_and_back() -> None:
    table = queues.build(SNAPSHOT, Look(find="m", sort="ready")).table

    assert (table.heads["ready"].path, table.heads["ready"].order) == ("/queues?q=m&sort=-ready", "descending")
    assert (table.heads["name"].path, table.heads["name"].order) == ("/queues?q=m&sort=name", "")
    assert queues.build(SNAPSHOT, Look(sort="-ready")).table.heads["ready"].order == "ascending"
    assert [choice.value for choice in table.sorts if choice.is_chosen] == ["ready"]


def test_a_table_is_shown_a_page_at_a_time() -> None:
    snapshot = sample.snapshot(*(sample.queue(f"q{number:03}") for number in range(200)))

    first, last = (queues.build(snapshot, Look(offset=offset)).table for offset in (0, 150))

    assert first.pages.text == "1\N{EN DASH}75 of 200 queues"
    assert (first.pages.previous, first.pages.following) == (None, "/queues?offset=75")
    assert (len(last.rows), last.pages.previous, last.pages.following) == (50, "/queues?offset=75", None)


async def test_many_queues_and_workers_stay_small_pages(operator: Visitor, store: Store) -> None:
    for number in range(200):
        await store.run(operations.enqueue(new_job("echo", {}, queue=f"a-queue-with-a-long-name-{number}")))
    for number in range(500):
        await report_worker(store, f"ip-10-0-{number}.region.compute.internal-{number}")

    for path in ("/console", "/console/queues", "/console/queues?offset=75&sort=-ready", "/console/workers"):
        assert len((await operator.get(path)).content) < 200_000
    found = words((await operator.get("/console/queues?q=name-199")).text)
    assert "a-queue-with-a-long-name-199" in found
    assert "1 of 200 queues" in found
    assert "No queue matches" in words((await operator.get("/console/queues?q=nowhere")).text)
    assert "No worker matches" in words((await operator.get("/console/workers?q=nowhere")).text)


@pytest.mark.parametrize("query", ["offset=-5", "offset=99999999999", "sort=%00", "only=x&q=%F0%9F%90%9D"])
async def test_nonsense_in_the_address_shows_a_list(operator: Visitor, store: Store, query: str) -> None:
    await store.run(operations.enqueue(new_job("echo", {}, queue="mail")))

    for path in ("/console/queues", "/console/workers", "/console/live/nothing"):
        answer = await operator.get(f"{path}?{query}")
        assert answer.status_code == (404 if "live" in path else 200)


async def test_the_stream_looks_like_its_page(operator: Visitor, store: Store) -> None:
    for name in ("mail", "media"):
        await store.run(operations.enqueue(new_job("echo", {}, queue=name)))

    page: Any = await operator.get("/console/queues?q=med&sort=ready&offset=0")

    assert 'hx-sse:connect="/console/live/queues?q=med&amp;sort=ready"' in page.text
