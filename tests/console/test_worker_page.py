from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from leaseforge import exchanges, reads
from leaseforge.held import Held, Lease
from leaseforge.jobs import Progress
from leaseforge.store import Store
from leaseforge.workers import Command, ReportedJob, WorkerState
from leaseforge_auth.roles import Role
from leaseforge_console.views import worker
from tests.api.support import claim_job, report_worker, worker_report
from tests.console import sample
from tests.console.browsing import Visitor, words


def lease(left_s: float, **fields: Any) -> Lease:
    values: dict[str, Any] = {
        "fence": 1,
        "expires_at": sample.NOW + timedelta(seconds=left_s),
        "left": timedelta(seconds=left_s),
        "attempts": 2,
        "progress": None,
        "cancel_requested": False,
    }
    return Lease(**(values | fields))


def page_of(*held: Held, info: Any = None, others: tuple[Any, ...] = ()) -> worker.Worker:
    info = info or sample.worker(running=tuple(one.job for one in held))
    return worker.build(info, held, sample.snapshot(sample.queue("mail"), sample.queue("media"), info, *others))


def test_a_lease_that_is_over_comes_first_then_what_runs_longest() -> None:
    page = page_of(
        Held(sample.run("short", 2), lease(6)),
        Held(sample.run("long", 90), lease(8, progress=Progress(40, "pages"))),
        Held(sample.run("over", 1), lease(-3)),
        Held(sample.run("gone", 5), None),
    )

    assert [(row.id, row.left_s, row.attempt) for row in page.rows] == [
        ("over", -3, 2),
        ("long", 8, 2),
        ("gone", None, None),
        ("short", 6, 2),
    ]


def test_jobs_the_report_does_not_name_are_counted() -> None:
    page = page_of(Held(sample.run("a", 2), lease(6)), info=sample.worker(running_count=130))

    assert (len(page.rows), page.unnamed) == (1, 129)


@pytest.mark.parametrize(
    ("state", "wanted", "offered"),
    [
        (WorkerState.RUNNING, None, "quiet stop"),
        (WorkerState.RUNNING, Command.QUIET, "resume stop"),
        (WorkerState.RUNNING, Command.STOP, ""),
        (WorkerState.QUIET, None, "resume stop"),
        (WorkerState.QUIET, Command.RESUME, "stop"),
        (WorkerState.STOPPING, None, ""),
        (WorkerState.LOST, None, ""),
    ],
)
def test_only_what_makes_sense_is_offered(state: WorkerState, wanted: Command | None, offered: str) -> None:
    page = page_of(info=replace(sample.worker(state=state), wanted=wanted))

    able = {"quiet": page.can_quiet, "resume": page.can_resume, "stop": page.can_stop}
    assert [word for word, can in able.items() if can] == offered.split()


def test_queues_that_would_be_left_alone_are_named() -> None:
    info = sample.worker("*", id="w1")

    assert page_of(info=info).alone_for == ("mail", "media")
    assert page_of(info=info, others=(sample.worker("mail", id="w2"),)).alone_for == ("media",)


def test_a_lost_worker_and_an_order_not_yet_heard_are_told() -> None:
    lost = page_of(info=sample.worker(state=WorkerState.LOST, last_seen_at=sample.ago(40)))
    told = page_of(info=replace(sample.worker(), wanted=Command.STOP))

    assert [(note.tone, note.lead) for note in lost.notes] == [("bad", "Not heard of for 40 s:")]
    assert [(note.tone, note.lead) for note in told.notes] == [("warn", "Told to stop:")]


async def running_worker(store: Store, worker_id: str = "tester") -> str:
    """A worker that holds one job; the job's id."""
    claimed = await claim_job(store)
    job = ReportedJob(claimed.id, claimed.queue, claimed.type, claimed.fence, 1_700_000_000_000)
    report = msgspec.structs.replace(worker_report(worker_id), running=(job,), running_count=1)
    await store.run(exchanges.register_worker(report))
    return claimed.id


async def test_the_page_shows_leases_and_facts(operator: Visitor, store: Store) -> None:
    job_id = await running_worker(store)

    page = (await operator.get("/console/workers/tester")).text

    assert f'href="/console/jobs/{job_id}"' in page
    assert "here:1 running 4 slots, 1 busy" in words(page)
    assert 'href="/console/workers/tester"' in (await operator.get("/console/workers")).text
    assert "echo" in words(page)


async def test_an_operators_word_waits_for_the_worker(operator: Visitor, store: Store) -> None:
    await report_worker(store, "w1")
    await operator.get("/console/workers/w1")

    answer = await operator.post("/console/workers/w1/quiet")

    assert answer.headers["location"] == "/console/workers/w1"
    page = words((await operator.get("/console/workers/w1")).text)
    assert "Told here:1 to be quiet" in page
    assert "Told to be quiet:" in page
    assert (await store.run(reads.worker("w1"))).wanted is Command.QUIET
    await operator.post("/console/workers/w1/resume")
    assert (await store.run(reads.worker("w1"))).wanted is Command.RESUME


async def test_a_stop_is_confirmed_first(operator: Visitor, store: Store) -> None:
    await running_worker(store)

    asked = words((await operator.get("/console/workers/tester/stop")).text)
    assert "It runs 1 job now" in asked
    assert "No other worker serves default" in asked
    assert (await store.run(reads.worker("tester"))).wanted is None

    await operator.post("/console/workers/tester/stop", reason="an old version")
    assert (await store.run(reads.worker("tester"))).wanted is Command.STOP
    again = words((await operator.get("/console/workers/tester/stop")).text)
    assert "It was told to stop already." in again


@pytest.mark.parametrize("word", ["quiet", "resume", "stop"])
async def test_viewers_look_and_tell_nothing(visit: Callable[[Role], Any], store: Store, word: str) -> None:
    await report_worker(store, "w1")
    viewer: Visitor = await visit(Role.VIEWER)

    page = (await viewer.get("/console/workers/w1")).text
    answer = await viewer.post(f"/console/workers/w1/{word}")

    assert "/quiet" not in page
    assert "/stop" not in page
    assert answer.status_code == 403
    assert (await store.run(reads.worker("w1"))).wanted is None


@pytest.mark.parametrize("worker_id", ["nobody", "w%201", "%F0%9F%90%9D", "x" * 300])
async def test_a_worker_that_is_not_there_is_a_page(operator: Visitor, worker_id: str) -> None:
    await operator.get("/console/workers")

    page = await operator.get(f"/console/workers/{worker_id}")
    told = await operator.post(f"/console/workers/{worker_id}/quiet")

    assert (page.status_code, told.status_code) == (404, 404)
    assert "No such worker" in words(page.text)


async def test_an_unusual_id_keeps_its_address(operator: Visitor, store: Store) -> None:
    await report_worker(store, "w 1&x=<b>é")

    page = (await operator.get("/console/workers/w%201%26x%3D%3Cb%3E%C3%A9")).text

    assert 'action="/console/workers/w%201%26x%3D%3Cb%3E%C3%A9/quiet"' in page
    assert "w 1&amp;x=&lt;b&gt;é" in page


async def test_a_slash_is_part_of_an_id(operator: Visitor, store: Store) -> None:
    await report_worker(store, "rack 1/node%2F2")
    address = "/console/workers/rack%201%2Fnode%252F2"

    assert f'href="{address}"' in (await operator.get("/console/workers")).text
    page = (await operator.get(address)).text
    answer = await operator.post(f"{address}/quiet")

    assert f'action="{address}/quiet"' in page
    assert answer.headers["location"] == address
    assert (await store.run(reads.worker("rack 1/node%2F2"))).wanted is Command.QUIET
