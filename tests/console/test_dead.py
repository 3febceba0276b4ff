from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.errors import JobNotFound
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.reads import Page
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from leaseforge_console.views import dead
from leaseforge_console.views.asked import Asked
from tests.api.support import claim_job, kill_job, settle
from tests.console import sample
from tests.console.browsing import Visitor, hidden_fields, words


async def kill_with(store: Store, queue: str, kind: str, message: str) -> str:
    claimed = await claim_job(store, queue)
    await settle(store, claimed, Outcome.FAIL, error_kind=kind, error_message=message, max_attempts=1)
    return claimed.id


async def group_path(store: Store, queue: str) -> str:
    [group] = (await store.run(reads.groups(queue))).items
    return f"/console/dead/jobs?queue={queue}&group={group.key}"


async def test_groups_come_first_the_largest_on_top_and_lead_to_their_jobs(operator: Visitor, store: Store) -> None:
    one = await kill_with(store, "mail", "KeyError", "'account'")
    many = [await kill_with(store, "billing", "GatewayTimeout", f"no answer in {n} s") for n in range(3)]

    page = await operator.get("/console/dead")
    of_group = await operator.get(await group_path(store, "billing"))

    text = words(page.text)
    assert "4 jobs in 2 groups" in text
    assert text.index("GatewayTimeout") < text.index("KeyError")
    assert (await group_path(store, "billing")).replace("&", "&amp;") in page.text
    assert "3 jobs that failed alike" in words(of_group.text)
    assert all(f'id="job-{job_id}"' in of_group.text for job_id in many)
    assert one not in of_group.text


async def test_hostile_errors_stay_text(operator: Visitor, store: Store) -> None:
    await kill_with(store, "mail", "<script>alert(1)</script>", 'a"b\x00\u202e<img src=x onerror=alert(1)>')

    for path in ("/console/dead", await group_path(store, "mail"), "/console/dead/jobs?text=%22%3E%3Cimg%20src%3Dx"):
        page = (await operator.get(path)).text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "\u202e" not in page


async def test_without_dead_letters_the_page_says_what_they_are(operator: Visitor) -> None:
    assert "A job is dead when its attempts are spent" in words((await operator.get("/console/dead")).text)
    assert "No dead job" in words((await operator.get("/console/dead/jobs")).text)


async def test_a_job_is_put_back_from_the_list_and_the_list_stays(operator: Visitor, store: Store) -> None:
    job_id = await kill_job(store, "billing")
    path = await group_path(store, "billing")
    page = (await operator.get(path)).text
    fields = hidden_fields(page, f"/console/dead/{job_id}/retry")

    answer = await operator.post(f"/console/dead/{job_id}/retry", fields)
    again = await operator.post(f"/console/dead/{job_id}/retry", fields)

    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert again.status_code == 303
    assert (await store.run(reads.job(job_id))).state is JobState.READY
    assert "This group is empty" in words((await operator.get(path)).text)


async def test_a_job_is_deleted_after_a_question_and_only_while_it_is_dead(operator: Visitor, store: Store) -> None:
    gone, saved = await kill_job(store, "billing"), await kill_job(store, "billing")
    question = words((await operator.get(f"/console/dead/{gone}/delete")).text)
    await store.run(operations.retry(saved, operation="meanwhile"))

    deleted = await operator.post(f"/console/dead/{gone}/delete", reason="a test order")
    refused = await operator.post(f"/console/dead/{saved}/delete")

    assert "one dead job of the queue billing" in question
    assert deleted.headers["location"] == "/console/dead/jobs?queue=billing"
    with pytest.raises(JobNotFound):
        await store.run(reads.job(gone))
    assert refused.status_code == 409
    assert (await store.run(reads.job(saved))).state is JobState.READY
    assert "not dead any more: it is ready" in words((await operator.get(f"/console/dead/{saved}/delete")).text)


async def test_jobs_are_narrowed_by_queue_type_and_words_of_the_error(operator: Visitor, store: Store) -> None:
    timeout = await kill_with(store, "billing", "GatewayTimeout", "no answer from pay.example")
    address = await kill_with(store, "billing", "ValueError", "bad address")
    other = await kill_with(store, "mail", "GatewayTimeout", "no answer from pay.example")

    by_words = (await operator.get("/console/dead/jobs?queue=billing&text=PAY.example&type=&within=3600")).text
    by_type = (await operator.get("/console/dead/jobs?type=nothing_like_it")).text

    assert timeout in by_words
    assert address not in by_words
    assert other not in by_words
    assert "1 found · searched 2 of 2 jobs" in words(by_words)
    assert (
        'hx-sse:connect="/console/live/still?section=dead"' in by_words
    )  # its figures stand, only its session is watched
    assert "No dead job matches" in words(by_type)
    assert "0 found · searched 3 of 3 jobs" in words(by_type)


async def test_a_dead_job_leads_to_those_that_failed_alike(operator: Visitor, store: Store) -> None:
    job_id = await kill_job(store, "billing")

    page = (await operator.get(f"/console/jobs/{job_id}")).text

    assert (await group_path(store, "billing")).replace("&", "&amp;") in page


async def test_long_lists_are_paged_from_place_to_place(operator: Visitor, store: Store) -> None:
    ids = {await kill_job(store, "billing") for _ in range(53)}

    first = (await operator.get("/console/dead/jobs")).text
    following = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    last = (await operator.get(following)).text

    assert "50 of 53 jobs" in words(first)
    seen = [{job_id for job_id in ids if f'id="job-{job_id}"' in page} for page in (first, last)]
    assert [len(part) for part in seen] == [50, 3]
    assert seen[0] | seen[1] == ids
    assert "First page" in words(last)
    assert len(first.encode()) < 200_000


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("jobs?place=nonsense", 400),
        ("jobs?place=3:1_0:00", 400),
        ("jobs?place=9:1:00", 400),
        ("jobs?within=-5", 400),
        ("jobs?within=17", 400),
        ("jobs?state=nonsense", 400),
        ("jobs?group=abc", 400),
        ("jobs?queue=never", 404),
        ("?queue=never", 404),
        ("?queue=no%20name", 404),
        ("?offset=-1", 200),
        ("?offset=99999999999999999999", 200),
        ("jobs?type=" + "x" * 500, 400),
        ("00000000-0000-4000-8000-000000000000/delete", 404),
    ],
)
async def test_nonsense_in_the_address_is_answered(operator: Visitor, store: Store, query: str, status: int) -> None:
    await kill_job(store, "billing")

    answer = await operator.get("/console/dead" + (query if query.startswith("?") else f"/{query}"))

    assert answer.status_code == status


async def test_a_purge_removes_what_was_dead_when_it_was_shown(operator: Visitor, store: Store) -> None:
    for queue in ("billing", "mail", "mail"):
        await kill_job(store, queue)
    page = (await operator.get("/console/dead/purge")).text
    fields = hidden_fields(page, "/console/dead/purge")
    late = await kill_job(store, "billing")

    await operator.post("/console/dead/purge", fields)

    assert "3 dead jobs of all queues" in words(page)
    assert (await store.run(reads.job(late))).state is JobState.DEAD
    assert "Purged 3 dead jobs" in words((await operator.get("/console/dead")).text)


async def test_a_purge_of_one_queue_leaves_the_others(operator: Visitor, store: Store) -> None:
    kept, gone = await kill_job(store, "billing"), await kill_job(store, "mail")
    fields = hidden_fields((await operator.get("/console/dead/purge?queue=mail")).text, "/console/dead/purge")

    forged = await operator.post("/console/dead/purge", fields | {"queue": ""})
    await operator.post("/console/dead/purge", fields)

    assert forged.status_code == 403
    assert (await store.run(reads.job(kept))).state is JobState.DEAD
    with pytest.raises(JobNotFound):
        await store.run(reads.job(gone))


async def test_viewers_look_on(visit: Callable[[Role], Any], store: Store) -> None:
    job_id = await kill_job(store, "billing")
    viewer: Visitor = await visit(Role.VIEWER)

    pages = [(await viewer.get(path)).text for path in ("/console/dead", await group_path(store, "billing"))]

    assert job_id in pages[1]
    for page in pages:
        assert "/retry" not in page
        assert "/delete" not in page
        assert "/purge" not in page
    assert (await viewer.post(f"/console/dead/{job_id}/retry", operation="x")).status_code == 403


def test_the_group_of_what_is_left_says_so() -> None:
    group = sample.dead_group(key="other", type="other", kind="", message="")

    row = dead.group_row(group)

    assert (row.type, row.kind) == ("", "more than 1,000 kinds of error")


def test_pages_of_groups_keep_the_queue() -> None:
    groups = tuple(sample.dead_group(key=f"{n:016x}") for n in range(50))
    snapshot = sample.snapshot(sample.queue("billing", dead=500))

    page = dead.groups(Page(groups, 120, 50, 50), Asked(queue="billing"), snapshot)

    assert page.pages.text == "51\N{EN DASH}100 of 120 groups"
    assert page.pages.previous == "/dead?queue=billing"
    assert page.pages.following == "/dead?queue=billing&offset=100"


def test_more_than_a_thousand_ask_for_the_word() -> None:
    small, large = (dead.purge_form("q", [sample.queue("q", dead=count)], "key") for count in (1000, 1001))
    sent = dead.PurgeSent(count=1001, before_ms=large.frozen.before_ms, seal=large.seal, queue="q", word="no")

    assert (small.word, large.word) == (None, "purge")
    assert dead.problem_of(sent.frozen(), sent, "key") is not None
    assert dead.is_as_shown(sent.frozen(), sent, "key")
