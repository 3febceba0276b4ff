from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.errors import StoreUnavailable
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from leaseforge_console import live
from leaseforge_console.views import queues
from tests.api.support import claim_job, kill_job, report_worker
from tests.console.browsing import Visitor, words


async def enqueue(store: Store, queue: str = "mail", count: int = 1, **fields: Any) -> list[str]:
    jobs = [new_job("send_email", {"to": "ada"}, queue=queue, **fields) for _ in range(count)]
    return [enqueued.id for enqueued in await store.run(operations.enqueue_many(jobs))]


async def test_the_first_overview_teaches_how_to_submit_a_job(operator: Visitor) -> None:
    page = words((await operator.get("/console")).text)

    assert "No job has been submitted yet" in page
    assert "/api/jobs" in page


async def test_the_overview_tells_what_is_wrong_and_how_much_there_is(operator: Visitor, store: Store) -> None:
    await enqueue(store, count=3)
    await kill_job(store, "billing")

    page = words((await operator.get("/console")).text)

    assert "No worker is running: 3 jobs in 1 queue wait." in page
    assert "Dead letters in billing : 1 job failed for good." in page
    assert page.index("No worker") < page.index("Throughput")


async def test_the_queues_are_listed_with_their_counts(operator: Visitor, store: Store) -> None:
    await enqueue(store, "mail", 2)
    await enqueue(store, "media", delay_ms=60_000)
    await report_worker(store, "w1")

    page = words((await operator.get("/console/queues")).text)

    assert "2 queues · 2 ready" in page
    assert "no worker" in page


async def test_a_queue_lists_its_jobs_by_state_in_pages(operator: Visitor, store: Store) -> None:
    ids = await enqueue(store, count=120)

    first = (await operator.get("/console/queues/mail")).text
    last = (await operator.get("/console/queues/mail?state=ready&offset=100")).text

    assert "1\N{EN DASH}50 of 120" in first
    assert 'href="/console/queues/mail?state=ready&amp;offset=50" rel="next"' in first
    assert f'id="job-{ids[0]}"' in first
    assert "101\N{EN DASH}120 of 120" in last
    assert f'id="job-{ids[-1]}"' in last
    assert 'rel="next"' not in last


@pytest.mark.parametrize("query", ["state=nonsense", "offset=-1", "offset=x", "offset=99999999999999999999"])
async def test_nonsense_in_the_address_is_answered_not_crashed_on(operator: Visitor, store: Store, query: str) -> None:
    await enqueue(store)

    answer = await operator.get(f"/console/queues/mail?{query}")

    assert answer.status_code in (200, 400)


async def test_a_job_page_reads_from_state_to_facts(operator: Visitor, store: Store) -> None:
    job_id = await kill_job(store, "billing")

    page = words((await operator.get(f"/console/jobs/{job_id}")).text)

    order = ["dead", "Retry", "Last error", "Timeline", "Payload", "Facts", "Attempts"]
    places = [page.index(word, page.index("dead")) for word in order]
    assert places == sorted(places)
    assert "no such address" in page
    assert "Dead its attempts are spent" in page


async def test_a_running_job_shows_its_lease(operator: Visitor, store: Store) -> None:
    claimed = await claim_job(store)

    page = words((await operator.get(f"/console/jobs/{claimed.id}")).text)

    assert "Lease" in page
    assert str(claimed.fence) in page
    assert "Retry" not in page


async def test_workers_are_listed_and_their_absence_explained(operator: Visitor, store: Store) -> None:
    assert "No worker is running" in words((await operator.get("/console/workers")).text)

    await report_worker(store, "w1")

    assert "here:1 running default" in words((await operator.get("/console/workers")).text)


async def test_the_search_goes_to_jobs_and_queues_and_says_what_is_not_there(operator: Visitor, store: Store) -> None:
    [job_id] = await enqueue(store)

    assert (await operator.get(f"/console/find?q=%20{job_id.upper()}")).headers["location"] == f"/console/jobs/{job_id}"
    assert (await operator.get("/console/find?q=mail")).headers["location"] == "/console/queues/mail"
    assert "mail queue Pause mail… action" in words((await operator.get("/console/find?q=ma")).text)
    unknown = "8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11"
    assert f"No job with the id {unknown}" in words((await operator.get(f"/console/find?q={unknown}")).text)
    assert f"{job_id} send_email ready job" in words((await operator.get(f"/console/find?q={job_id[:8]}")).text)
    assert "Nothing is called “<b>&” " in words((await operator.get("/console/find?q=%3Cb%3E%26")).text) + " "


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/console/jobs/8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11", "No such job"),
        ("/console/jobs/not-an-id", "No such job"),
        ("/console/queues/never", "No such queue"),
        ("/console/queues/never/purge", "No such queue"),
        ("/console/nothing", "No such page"),
        ("/console/queues/a/b/c", "No such page"),
        ("/console/logout", "Not that way"),
    ],
)
async def test_what_is_not_there_is_a_page_that_leads_on(operator: Visitor, path: str, title: str) -> None:
    answer = await operator.get(path)

    assert answer.status_code in (404, 405)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert title in words(answer.text)
    assert 'href="/console"' in answer.text


async def test_viewers_see_no_actions_and_no_payloads(visit: Callable[[Role], Any], store: Store) -> None:
    job_id = await kill_job(store, "billing")
    viewer: Visitor = await visit(Role.VIEWER)

    job = (await viewer.get(f"/console/jobs/{job_id}")).text
    queues = (await viewer.get("/console/queues")).text

    assert "/retry" not in job
    assert "/delete" not in job
    assert "Your role may not read payloads" in words(job)
    assert "/pause" not in queues
    assert "/purge" not in queues


async def test_the_theme_is_remembered(operator: Visitor) -> None:
    await operator.get("/console/workers")

    answer = await operator.post("/console/theme", theme="dark")

    assert answer.headers["location"] == "/console/workers"
    assert 'data-theme="dark"' in (await operator.get("/console")).text
    assert (await operator.post("/console/theme", theme="pink")).status_code == 400


async def test_without_redis_pages_say_so_and_offer_another_try(
    operator: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: Any) -> Any:
        raise StoreUnavailable("Redis is away")

    monkeypatch.setattr(live, "read_snapshot", unavailable)
    monkeypatch.setattr(Store, "run", unavailable)

    page = await operator.get("/console/queues")
    fragment = await operator.post("/console/queues/mail/pause", htmx=True)
    stream = await operator.get("/console/live/queues", htmx=True)

    assert page.status_code == 503
    assert "Redis does not answer" in words(page.text)
    assert "Try again" in words(page.text)
    assert (fragment.status_code, fragment.headers["hx-retarget"]) == (503, "#toasts")
    assert (stream.status_code, stream.text) == (503, "")


async def test_a_fault_of_ours_is_told_with_its_reference(operator: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a defect with a secret in it")

    monkeypatch.setattr(queues, "build", broken)

    answer = await operator.get("/console/queues")

    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.text
    assert "secret" not in answer.text


async def test_pages_are_not_kept_and_carry_the_policy(operator: Visitor) -> None:
    for path in ("/console", "/console/login", "/console/nothing"):
        headers = (await operator.get(path)).headers
        assert headers["cache-control"] == "no-store"
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]


async def test_pages_stay_small_with_many_queues(operator: Visitor, store: Store) -> None:
    for number in range(120):
        await enqueue(store, f"queue-{number}")

    for path in ("/console", "/console/queues"):
        assert len((await operator.get(path)).content) < 250_000
    assert len(await store.run(reads.queue_names())) == 120
