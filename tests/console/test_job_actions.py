"""What is done to one job from its page: done once, and told truly when the job has moved on."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leaseforge import operations, reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.audit.search import Filter, search
from leaseforge_auth.roles import Role
from tests.api.support import claim_job, claim_next, kill_job, settle
from tests.console.browsing import Visitor, hidden_fields, words


async def ready(store: Store) -> str:
    job = new_job("echo", {"a": 1}, queue="mail")
    await store.run(operations.enqueue(job))
    return job.id


async def scheduled(store: Store) -> str:
    job = new_job("echo", {"a": 1}, queue="mail", delay_ms=3_600_000)
    await store.run(operations.enqueue(job))
    return job.id


async def running(store: Store) -> str:
    return (await claim_job(store, "mail")).id


async def completed(store: Store) -> str:
    claimed = await claim_job(store, "mail")
    await settle(store, claimed, Outcome.COMPLETE, result=b'"done"')
    return claimed.id


async def cancelled(store: Store) -> str:
    job_id = await ready(store)
    await store.run(operations.cancel(job_id, operation="before"))
    return job_id


async def dead(store: Store) -> str:
    return await kill_job(store, "mail")


Make = Callable[[Store], Awaitable[str]]
# How it is made, what its page offers, and what becomes of it.
OFFERED: list[tuple[Make, str, JobState | None]] = [
    (dead, "retry", JobState.READY),
    (completed, "requeue", JobState.READY),
    (cancelled, "requeue", JobState.READY),
    (ready, "cancel", JobState.CANCELLED),
    (scheduled, "cancel", JobState.CANCELLED),
    (running, "cancel", JobState.RUNNING),
    (scheduled, "promote", JobState.READY),
    (dead, "delete", None),
    (ready, "delete", None),
    (completed, "delete", None),
]


async def state_of(store: Store, job_id: str) -> JobState:
    return (await store.run(reads.job(job_id))).state


async def offered(visitor: Visitor, job_id: str, verb: str) -> dict[str, str]:
    """The fields of the form of an action: on the page itself, or on the confirmation it links to."""
    page = (await visitor.get(f"/console/jobs/{job_id}")).text
    path = f"/console/jobs/{job_id}/{verb}"
    if f'href="{path}"' in page:
        page = (await visitor.get(path)).text
    return hidden_fields(page, path)


@pytest.mark.parametrize(("make", "verb", "becomes"), OFFERED)
async def test_an_action_sent_twice_is_done_once_with_its_reason(
    operator: Visitor, store: Store, make: Make, verb: str, becomes: JobState | None
) -> None:
    job_id = await make(store)
    fields = await offered(operator, job_id, verb)

    first = await operator.post(f"/console/jobs/{job_id}/{verb}", fields, reason="ticket 17")
    rev = (await store.run(reads.job(job_id))).rev if becomes else 0
    again = await operator.post(f"/console/jobs/{job_id}/{verb}", fields, reason="ticket 17")

    assert (first.status_code, again.status_code) == (303, 303)
    told = words((await operator.get(again.headers["location"])).text)
    assert "already" in told
    if becomes:
        job = await store.run(reads.job(job_id))
        assert (job.state, job.rev) == (becomes, rev)
    rows = (await search(store, Filter(target=job_id), before=None, limit=9)).rows
    assert [(row.entry.action, row.entry.reason) for row in rows if row.entry] == [(f"job.{verb}", "ticket 17")] * 2


async def test_a_running_job_is_asked_to_stop_and_says_so(operator: Visitor, store: Store) -> None:
    claimed = await claim_job(store, "mail")
    asks = words((await operator.get(f"/console/jobs/{claimed.id}/cancel")).text)

    fields = await offered(operator, claimed.id, "cancel")
    await operator.post(f"/console/jobs/{claimed.id}/cancel", fields)
    page = words((await operator.get(f"/console/jobs/{claimed.id}")).text)
    twice = words((await operator.get(f"/console/jobs/{claimed.id}/cancel")).text)

    assert "This asks the running job to stop." in asks
    assert "What it has done by then is not undone." in asks
    assert "Asked to stop: its worker hears of it within seconds." in page
    assert "asked to stop" in page
    assert "Cancel…" not in page
    assert "has been asked to stop already" in twice


# What was shown, what happened meanwhile, and the words that tell it.
MOVED: list[tuple[Make, str, str]] = [
    (completed, "cancel", "nothing was cancelled"),
    (dead, "cancel", "nothing was cancelled"),
    (running, "retry", "nothing was put back"),
    (running, "requeue", "nothing was put back"),
    (completed, "promote", "nothing was promoted"),
    (running, "delete", "nothing was deleted"),
]


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize(("make", "verb", "told"), MOVED)
async def test_a_job_that_has_moved_on_stays_as_it_is_and_its_state_is_told(
    operator: Visitor, store: Store, make: Make, verb: str, told: str, htmx: bool
) -> None:
    job_id = await make(store)
    await operator.get(f"/console/jobs/{job_id}")
    before = await store.run(reads.job(job_id))

    answer = await operator.post(f"/console/jobs/{job_id}/{verb}", htmx=htmx, operation="rev-1", state="ready")

    assert answer.status_code == 409
    assert told in words(answer.text)
    assert {"completed": "was completed", "dead": "died", "running": "has been running for"}[before.state] in words(
        answer.text
    )
    assert await store.run(reads.job(job_id)) == before
    [row] = (await search(store, Filter(target=job_id), before=None, limit=9)).rows
    assert row.entry is not None
    assert row.entry.result == "refused"


async def test_what_was_to_be_cancelled_before_it_runs_is_not_stopped_while_it_runs(
    operator: Visitor, store: Store
) -> None:
    job_id = await ready(store)
    fields = await offered(operator, job_id, "cancel")
    await claim_next(store, "mail")

    answer = await operator.post(f"/console/jobs/{job_id}/cancel", fields)

    assert answer.status_code == 409
    assert not (await store.run(reads.job(job_id))).cancel_requested
    assert "has been running for" in words(answer.text)


async def test_what_was_dead_when_it_was_shown_is_not_deleted_after_somebody_put_it_back(
    operator: Visitor, store: Store
) -> None:
    job_id = await dead(store)
    fields = await offered(operator, job_id, "delete")
    await store.run(operations.retry(job_id, operation="somebody else"))

    answer = await operator.post(f"/console/jobs/{job_id}/delete", fields)

    assert answer.status_code == 409
    assert "It has been ready for" in words(answer.text)
    assert await state_of(store, job_id) is JobState.READY


@pytest.mark.parametrize("make", [ready, scheduled, running, completed, cancelled, dead])
async def test_a_viewer_finds_no_button_and_is_refused_all_the_same(
    visit: Callable[[Role], Any], store: Store, make: Make
) -> None:
    job_id = await make(store)
    viewer = await visit(Role.VIEWER)
    page = words((await viewer.get(f"/console/jobs/{job_id}")).text)
    before = await store.run(reads.job(job_id))

    for word in ("Retry", "Run now", "Run again", "Cancel…", "Delete…", "New one like it"):
        assert word not in page
    for verb in ("retry", "promote", "requeue", "cancel", "delete"):
        answer = await viewer.post(f"/console/jobs/{job_id}/{verb}", operation="rev-1", state=before.state.value)
        assert answer.status_code == 403
    for verb in ("requeue", "cancel", "delete"):
        assert (await viewer.get(f"/console/jobs/{job_id}/{verb}")).status_code == 403
    assert await store.run(reads.job(job_id)) == before
