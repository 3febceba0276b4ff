from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.support import claim_job, settle
from tests.console.browsing import Visitor, hidden_fields, words


async def delay(store: Store, queue: str = "mail", delay_ms: int = 60_000) -> str:
    return (await store.run(operations.enqueue(new_job("send_email", {}, queue=queue, delay_ms=delay_ms)))).id


async def state_of(store: Store, job_id: str) -> JobState:
    return (await store.run(reads.job(job_id))).state


async def test_what_is_due_first_stands_first_whatever_it_waits_for(operator: Visitor, store: Store) -> None:
    late, soon = await delay(store, delay_ms=7_200_000), await delay(store, "media", delay_ms=60_000)
    claimed = await claim_job(store, "billing")
    await settle(store, claimed, Outcome.FAIL, error_kind="Timeout", error_message="none", delay_ms=1_800_000)

    page = (await operator.get("/console/delayed")).text

    places = [page.index(f'id="job-{job_id}"') for job_id in (soon, claimed.id, late)]
    assert places == sorted(places)
    assert "3 jobs wait for their time" in words(page)
    assert "due in 2 h" in words(page)


async def test_states_and_queues_narrow_the_list(operator: Visitor, store: Store) -> None:
    mail, media = await delay(store), await delay(store, "media")

    page = (await operator.get("/console/delayed?queue=media&state=scheduled")).text

    assert media in page
    assert mail not in page
    assert "No retrying job" in words((await operator.get("/console/delayed?state=retrying")).text)
    assert (await operator.get("/console/delayed?state=dead")).status_code == 400
    assert (await operator.get("/console/delayed?queue=never")).status_code == 404


async def test_a_job_is_promoted_and_the_list_stays(operator: Visitor, store: Store) -> None:
    job_id = await delay(store)
    fields = hidden_fields((await operator.get("/console/delayed")).text, f"/console/delayed/{job_id}/promote")

    answer = await operator.post(f"/console/delayed/{job_id}/promote", fields)
    told = words((await operator.get("/console/delayed")).text)
    await operator.post(f"/console/delayed/{job_id}/promote", fields)
    again = words((await operator.get("/console/delayed")).text)

    assert answer.headers["location"] == "/console/delayed"
    assert await state_of(store, job_id) is JobState.READY
    assert "is ready to run" in told
    assert "was promoted already" in again
    assert "No delayed job" in again


async def test_a_job_is_cancelled_after_a_question(operator: Visitor, store: Store) -> None:
    job_id = await delay(store)
    page = (await operator.get(f"/console/delayed/{job_id}/cancel")).text
    fields = hidden_fields(page, f"/console/delayed/{job_id}/cancel")

    answer = await operator.post(f"/console/delayed/{job_id}/cancel", fields, reason="ordered twice")

    assert "This cancels one job of the queue mail" in words(page)
    assert answer.headers["location"] == "/console/delayed"
    assert await state_of(store, job_id) is JobState.CANCELLED


async def test_a_cancel_offered_before_a_promotion_is_refused_not_taken_for_done(
    operator: Visitor, store: Store
) -> None:
    job_id = await delay(store)
    page = (await operator.get(f"/console/delayed/{job_id}/cancel")).text
    fields = hidden_fields(page, f"/console/delayed/{job_id}/cancel")
    await operator.post(f"/console/delayed/{job_id}/promote", fields)

    answer = await operator.post(f"/console/delayed/{job_id}/cancel", fields)

    assert answer.status_code == 409
    assert await state_of(store, job_id) is JobState.READY
    assert "does not wait any more" in words((await operator.get(f"/console/delayed/{job_id}/cancel")).text)


@pytest.mark.parametrize("action", ["promote", "cancel"])
async def test_actions_with_broken_fields_change_nothing(operator: Visitor, store: Store, action: str) -> None:
    job_id = await delay(store)
    await operator.get("/console/delayed")

    for fields in ({}, {"operation": "x" * 65}, {"other": "rev-1"}):
        answer = await operator.post(f"/console/delayed/{job_id}/{action}", fields)
        assert answer.status_code == 400
        assert await state_of(store, job_id) is JobState.SCHEDULED


async def test_an_unknown_job_is_not_found(operator: Visitor) -> None:
    await operator.get("/console/delayed")

    answer = await operator.post("/console/delayed/00000000-0000-4000-8000-000000000000/promote", operation="rev-1")

    assert answer.status_code == 404


async def test_viewers_look_on(visit: Callable[[Role], Any], store: Store) -> None:
    job_id = await delay(store)
    viewer: Visitor = await visit(Role.VIEWER)

    page = (await viewer.get("/console/delayed")).text

    assert job_id in page
    assert "/promote" not in page
    assert "/cancel" not in page
    assert (await viewer.post(f"/console/delayed/{job_id}/promote", operation="x")).status_code == 403
