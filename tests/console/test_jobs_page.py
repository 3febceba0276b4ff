import re
from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.errors import BadInput
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.searching import Found
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from leaseforge_console.views import jobs, listing
from leaseforge_console.views.asked import Asked, filter_form
from tests.api.support import claim_job, kill_job
from tests.console import sample
from tests.console.browsing import Visitor, words


async def enqueue(
    store: Store, queue: str = "mail", count: int = 1, type: str = "send_email", **rest: Any
) -> list[str]:
    new = [new_job(type, {"to": "ada"}, queue=queue, **rest) for _ in range(count)]
    return [enqueued.id for enqueued in await store.run(operations.enqueue_many(new))]


def shown(page: str, *ids: str) -> list[bool]:
    return [f'id="job-{job_id}"' in page for job_id in ids]


async def test_all_jobs_are_listed_running_first_ended_last(operator: Visitor, store: Store) -> None:
    dead = await kill_job(store, "billing")
    running = (await claim_job(store, "media")).id
    [ready] = await enqueue(store)
    [waits] = await enqueue(store, delay_ms=60_000)

    page = (await operator.get("/console/jobs")).text

    places = [page.index(f'id="job-{job_id}"') for job_id in (running, ready, waits, dead)]
    assert places == sorted(places)
    assert "4 jobs kept" in words(page)
    assert "/console/live/jobs" in page


async def test_the_address_narrows_by_queue_state_type_and_tag(operator: Visitor, store: Store) -> None:
    [mail] = await enqueue(store, "mail", tags=("eu",))
    [pdf] = await enqueue(store, "mail", type="make_pdf")
    dead = await kill_job(store, "billing")

    async def found(query: str) -> list[bool]:
        return shown((await operator.get(f"/console/jobs?{query}")).text, mail, pdf, dead)

    assert await found("queue=mail") == [True, True, False]
    assert await found("state=dead") == [False, False, True]
    assert await found("type=make_pdf&queue=&tag=&text=&within=") == [False, True, False]
    assert await found("tag=eu") == [True, False, False]
    assert await found("text=NO+such+address") == [False, False, True]
    assert await found("within=900&state=ready") == [True, True, False]
    assert await found("type=nothing") == [False, False, False]


async def test_what_was_searched_is_told_and_the_page_stands_still(operator: Visitor, store: Store) -> None:
    await enqueue(store, count=3)

    page = (await operator.get("/console/jobs?type=nothing")).text

    assert "0 found · searched 3 of 3 jobs at " in words(page)
    assert "No job matches" in words(page)
    assert 'hx-sse:connect="/console/live/still?section=jobs"' in page  # its figures stand, only its session is watched


@pytest.mark.parametrize("path", ["jobs?type=x", "delayed?tag=x", "dead/jobs?text=x", "dead/jobs?within=900"])
async def test_searches_are_not_watched(operator: Visitor, store: Store, path: str) -> None:
    await enqueue(store)

    assert (await operator.get(f"/console/live/{path}")).status_code == 400


async def test_a_search_stops_after_five_thousand_jobs_and_goes_on_from_there(operator: Visitor, store: Store) -> None:
    await enqueue(store, count=5_100)
    [wanted] = await enqueue(store, type="needle")

    first = (await operator.get("/console/jobs?type=needle")).text
    following = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    second = (await operator.get(following)).text

    assert "searched 5,000 of 5,101 jobs" in words(first)
    assert "Nothing found yet" in words(first)
    assert "Search further" in words(first)
    assert shown(second, wanted) == [True]


async def test_lists_are_paged_and_small(operator: Visitor, store: Store) -> None:
    ids = await enqueue(store, count=120, type="t" * 128)
    seen: list[str] = []
    path = "/console/jobs?state=ready"

    while path:
        page = (await operator.get(path)).text
        assert len(page.encode()) < 200_000
        seen += [job_id for job_id in ids if shown(page, job_id) == [True]]
        before, found, _ = page.partition('rel="next"')
        path = before.rpartition('href="')[2].partition('"')[0].replace("&amp;", "&") if found else ""

    assert seen == ids


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("state=nonsense", 400),
        ("within=soon", 400),
        ("place=0:1:zz", 400),
        ("place=4", 400),
        ("queue=never", 404),
        ("tag=" + "x" * 65, 400),
        ("text=%F0%9F%90%9D%00", 200),
        ("unknown=1", 200),
    ],
)
async def test_nonsense_in_the_address_is_answered(operator: Visitor, store: Store, query: str, status: int) -> None:
    await enqueue(store)

    assert (await operator.get(f"/console/jobs?{query}")).status_code == status


async def test_without_jobs_the_page_says_how_some_come(operator: Visitor) -> None:
    assert "No job has been submitted yet" in words((await operator.get("/console/jobs")).text)


async def test_producers_do_not_see_the_jobs_of_others(visit: Callable[[Role], Any]) -> None:
    producer: Visitor = await visit(Role.PRODUCER)

    assert (await producer.get("/console/jobs")).status_code == 403


async def test_many_queues_are_typed_not_chosen(operator: Visitor, store: Store) -> None:
    for number in range(101):
        await enqueue(store, f"queue-{number}")

    page = (await operator.get("/console/jobs?queue=queue-7")).text

    field = re.search('<input[^>]*id="f-queue"[^>]*>', page)
    assert field is not None
    assert 'value="queue-7"' in field[0]
    assert len(await store.run(reads.queue_names())) == 101


def test_tabs_keep_the_filters_and_count_only_what_is_known() -> None:
    snapshot = sample.snapshot(sample.queue("a", ready=5, dead=2), sample.queue("b", ready=7))
    nothing = Found((), 0, 0, 0, None, 0)

    plain = jobs.build(nothing, Asked(queue="a"), snapshot)
    narrowed = jobs.build(nothing, Asked(queue="a", tag="x & y", place="1"), snapshot)

    assert {tab.state: tab.count for tab in plain.tabs}[""] == 7
    assert {tab.state: tab.count for tab in plain.tabs}["ready"] == 5
    assert {tab.count for tab in narrowed.tabs} == {None}
    assert "/jobs?queue=a&state=dead&tag=x+%26+y" in {tab.path for tab in narrowed.tabs}


def test_the_foot_of_a_list_tells_what_it_knows() -> None:
    job = sample.job(JobState.READY)

    def foot(total: int | None, following: str | None, asked: Asked, count: int = 1) -> listing.Further:
        return listing.further(Found((job,) * count, total, 5000, 9000, following, 0), "/jobs", asked, sample.NOW)

    assert foot(1, None, Asked()).text == "1 job"
    assert foot(120, "1:0:00", Asked()).text == "1 of 120 jobs"
    stopped = foot(None, "1:0:00", Asked(type="x"))
    assert stopped.text == "1 found on this page · searched 5,000 of 9,000 jobs at 04:00:00.000 UTC"
    assert (stopped.word, stopped.following) == ("Search further", "/jobs?type=x&place=1%3A0%3A00")
    assert foot(None, "1:0:00", Asked(type="x"), count=50).word == "Next"
    assert foot(1, None, Asked(place="2")).first == "/jobs"


def test_an_address_no_page_leads_to_is_refused_with_every_reason() -> None:
    with pytest.raises(BadInput) as refused:
        Asked(state="x", within=1, place="?", group="g")

    assert [problem.field for problem in refused.value.problems] == ["state", "within", "place", "queue"]


def test_the_form_keeps_state_and_group_and_clears_the_rest() -> None:
    snapshot = sample.snapshot(sample.queue("a"))

    in_state = filter_form("/jobs", Asked(queue="a", state="dead", type="x"), snapshot, fields=("type",))
    in_group = filter_form("/dead/jobs", Asked(queue="a", group="g", type="x"), snapshot, fields=("type",))

    assert (in_state.hidden, in_state.clear) == ({"state": "dead"}, "/jobs?state=dead")
    assert (in_group.hidden, in_group.clear) == ({"group": "g"}, "/dead/jobs?queue=a&group=g")
