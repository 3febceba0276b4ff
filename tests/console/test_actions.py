from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.support import claim_job, kill_job
from tests.console.browsing import Visitor, hidden_fields, words


async def enqueue(store: Store, queue: str = "mail", count: int = 1) -> list[str]:
    jobs = [new_job("send_email", {"to": "ada"}, queue=queue) for _ in range(count)]
    return [enqueued.id for enqueued in await store.run(operations.enqueue_many(jobs))]


async def is_paused(store: Store, queue: str = "mail") -> bool:
    return (await store.run(reads.queue(queue))).paused


async def ready(store: Store, queue: str = "mail") -> int:
    return (await store.run(reads.queue(queue))).counts[JobState.READY]


async def test_pausing_leads_back_and_the_next_page_tells_about_it_once(operator: Visitor, store: Store) -> None:
    await enqueue(store)
    await operator.get("/console/queues")

    answer = await operator.post("/console/queues/mail/pause")

    assert (answer.status_code, answer.headers["location"]) == (303, "/console/queues")
    assert await is_paused(store)
    assert "Paused mail." in words((await operator.get("/console/queues")).text)
    assert "Paused mail." not in words((await operator.get("/console/queues")).text)


async def test_pausing_twice_is_fine_and_resuming_undoes_it(operator: Visitor, store: Store) -> None:
    await enqueue(store)
    await operator.get("/console/queues/mail")

    await operator.post("/console/queues/mail/pause")
    await operator.post("/console/queues/mail/pause")
    assert "mail was paused already." in words((await operator.get("/console/queues/mail")).text)
    await operator.post("/console/queues/mail/resume")

    assert not await is_paused(store)


async def test_with_htmx_the_page_on_screen_is_refreshed_and_another_one_opened(
    operator: Visitor, store: Store
) -> None:
    await enqueue(store)
    job_id = await kill_job(store, "mail")
    await operator.get("/console/queues")

    stay = await operator.post("/console/queues/mail/pause", htmx=True)
    await operator.get(f"/console/jobs/{job_id}")
    leave = await operator.post(f"/console/jobs/{job_id}/delete", htmx=True)

    assert (stay.status_code, stay.headers["location"]) == (303, "/console/queues")
    assert (leave.status_code, leave.headers["hx-redirect"]) == (200, "/console/queues/mail?state=dead")


async def test_a_purge_removes_what_was_shown_and_nothing_later(operator: Visitor, store: Store) -> None:
    await enqueue(store, count=12)
    page = (await operator.get("/console/queues/mail/purge")).text
    assert "12 ready jobs" in words(page)
    fields = hidden_fields(page, "/console/queues/mail/purge")
    [late] = await enqueue(store)

    answer = await operator.post("/console/queues/mail/purge", fields)

    assert answer.headers["location"] == "/console/queues/mail"
    assert "Purged 12 ready jobs" in words((await operator.get("/console/queues/mail")).text)
    assert await ready(store) == 1
    assert (await store.run(reads.job(late))).state is JobState.READY
    await operator.post("/console/queues/mail/purge", fields)
    assert await ready(store) == 1


async def test_more_than_a_thousand_are_purged_only_with_the_word(operator: Visitor, store: Store) -> None:
    await enqueue(store, count=1001)
    fields = hidden_fields((await operator.get("/console/queues/mail/purge")).text, "/console/queues/mail/purge")

    refused = await operator.post("/console/queues/mail/purge", fields, word="no")

    assert refused.status_code == 422
    assert "Type the word purge to confirm." in words(refused.text)
    assert hidden_fields(refused.text, "/console/queues/mail/purge") == fields
    assert await ready(store) == 1001
    await operator.post("/console/queues/mail/purge", fields, word="purge")
    assert await ready(store) == 0


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"sequence": "x", "as_of_ms": "1", "count": "1", "seal": "x"},
        {"sequence": "1", "as_of_ms": "1"},
        {"sequence": "-1", "as_of_ms": "-5", "count": "-1", "seal": "x"},
        {"sequence": "9" * 400, "as_of_ms": "9" * 400, "count": "1", "seal": "\u00fc"},
    ],
)
async def test_a_purge_with_broken_fields_changes_nothing(
    operator: Visitor, store: Store, fields: dict[str, str]
) -> None:
    await enqueue(store, count=3)
    await operator.get("/console/queues/mail/purge")

    answer = await operator.post("/console/queues/mail/purge", fields)

    assert answer.status_code in (400, 403)
    assert await ready(store) == 3


async def test_an_empty_queue_has_nothing_to_purge(operator: Visitor, store: Store) -> None:
    await kill_job(store, "mail")

    page = (await operator.get("/console/queues/mail/purge")).text

    assert "There is no ready job" in words(page)
    assert 'action="/console/queues/mail/purge"' not in page


async def test_a_dead_job_is_retried_once_however_often_the_form_is_sent(operator: Visitor, store: Store) -> None:
    job_id = await kill_job(store)
    page = (await operator.get(f"/console/jobs/{job_id}")).text
    fields = hidden_fields(page, f"/console/jobs/{job_id}/retry")

    first = await operator.post(f"/console/jobs/{job_id}/retry", fields)
    await operator.post(f"/console/jobs/{job_id}/retry", fields)

    assert first.headers["location"] == f"/console/jobs/{job_id}"
    assert "put back already" in words((await operator.get(f"/console/jobs/{job_id}")).text)
    job = await store.run(reads.job(job_id))
    assert (job.state, job.replays) == (JobState.READY, 1)


async def test_a_job_that_has_moved_on_is_not_retried(operator: Visitor, store: Store) -> None:
    claimed = await claim_job(store)
    await operator.get(f"/console/jobs/{claimed.id}")

    plain = await operator.post(f"/console/jobs/{claimed.id}/retry", operation="rev-1")
    live = await operator.post(f"/console/jobs/{claimed.id}/retry", htmx=True, operation="rev-1")

    assert plain.status_code == 409
    assert "The job has moved on" in words(plain.text)
    assert live.status_code == 409
    assert live.headers["hx-retarget"] == "#toasts"
    assert live.text.strip().startswith('<div class="toast bad"')
    assert "<html" not in live.text


async def test_a_job_whose_unique_key_another_holds_stays_dead(operator: Visitor, store: Store) -> None:
    job_id = await kill_job(store, unique_key="invoice 17")
    holder = await claim_job(store, unique_key="invoice 17")
    await operator.get(f"/console/jobs/{job_id}")

    answer = await operator.post(f"/console/jobs/{job_id}/retry", operation="rev-1")

    assert answer.status_code == 409
    assert "Another job has its unique key" in words(answer.text)
    assert holder.id in words(answer.text)
    assert (await store.run(reads.job(job_id))).state is JobState.DEAD


async def test_deleting_shows_the_job_first_and_leads_to_its_queue(operator: Visitor, store: Store) -> None:
    job_id = await kill_job(store)
    assert "one job of the queue default" in words((await operator.get(f"/console/jobs/{job_id}/delete")).text)

    answer = await operator.post(f"/console/jobs/{job_id}/delete")

    assert answer.headers["location"] == "/console/queues/default?state=dead"
    assert (await operator.get(f"/console/jobs/{job_id}")).status_code == 404


async def test_a_running_job_is_not_deleted(operator: Visitor, store: Store) -> None:
    claimed = await claim_job(store)

    page = (await operator.get(f"/console/jobs/{claimed.id}/delete")).text
    answer = await operator.post(f"/console/jobs/{claimed.id}/delete")

    assert "cannot be deleted before it ends" in words(page)
    assert answer.status_code == 409
    assert (await store.run(reads.job(claimed.id))).state is JobState.RUNNING


ACTIONS = [
    "/console/queues/mail/pause",
    "/console/queues/mail/resume",
    "/console/queues/mail/purge",
    "/console/jobs/{job}/retry",
    "/console/jobs/{job}/promote",
    "/console/jobs/{job}/requeue",
    "/console/jobs/{job}/cancel",
    "/console/jobs/{job}/delete",
]


@pytest.mark.parametrize("path", [*ACTIONS, "/console/theme", "/console/logout"])
async def test_no_action_without_the_form_token_or_from_another_site(
    operator: Visitor, store: Store, path: str
) -> None:
    job_id = await kill_job(store, "mail")
    await operator.get("/console/queues")
    fields = {"operation": "rev-1", "theme": "dark", "sequence": "1", "as_of_ms": "1", "count": "1", "seal": "x"}
    address = path.format(job=job_id)

    without = await operator.post(address, fields, csrf=False)
    foreign = await operator.post(address, fields, origin="cross-site")
    operator.token = "0" * 64
    forged = await operator.post(address, fields)

    assert (without.status_code, foreign.status_code, forged.status_code) == (403, 403, 403)
    assert (await store.run(reads.job(job_id))).state is JobState.DEAD


@pytest.mark.parametrize("path", ACTIONS)
async def test_a_viewer_is_refused_every_action(visit: Callable[[Role], Any], store: Store, path: str) -> None:
    job_id = await kill_job(store, "mail")
    viewer: Visitor = await visit(Role.VIEWER)
    await viewer.get("/console/queues")
    fields = {"operation": "rev-1", "sequence": "1", "as_of_ms": "1", "count": "1", "seal": "x"}

    answer = await viewer.post(path.format(job=job_id), fields)

    assert answer.status_code == 403
    assert "Not for your role" in words(answer.text)
    assert not await is_paused(store)
    assert (await store.run(reads.job(job_id))).state is JobState.DEAD


async def test_an_action_on_what_is_not_there_says_so(operator: Visitor, store: Store) -> None:
    await operator.get("/console/queues")

    assert (await operator.post("/console/queues/never/pause")).status_code == 404
    assert (await operator.post("/console/queues/b%C3%A4d/pause")).status_code == 400
    unknown = "8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11"
    assert (await operator.post(f"/console/jobs/{unknown}/retry", operation="rev-1")).status_code == 404
