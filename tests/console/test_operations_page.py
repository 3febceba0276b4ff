import asyncio
import re
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from leaseforge import bulk, operations, reads
from leaseforge.bulk_records import BulkOperation, BulkState
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth import calls
from leaseforge_auth.audit.search import Filter, search
from leaseforge_auth.roles import Role
from leaseforge_console.pages import operation_request
from tests.api.support import claim_job, claim_next, kill_job, settle
from tests.console.browsing import Visitor, hidden_fields, words
from tests.console.conftest import PASSWORD, PASSWORD_HASH

ASK = "/console/operations"
OF_DEAD = {"list": "dead", "all": "1", "action": "retry"}


async def ask(visitor: Visitor, form: dict[str, Any], *, ids: Sequence[str] = (), htmx: bool = False) -> httpx.Response:
    """Sends the bar's form with some rows ticked."""
    data: dict[str, Any] = {"_csrf": visitor.token, **form, "id": list(ids)}
    headers = {"sec-fetch-site": "same-origin", "referer": f"http://127.0.0.1{visitor.page}"}
    if htmx:
        headers |= {"hx-request": "true", "hx-current-url": headers["referer"]}
    return await visitor.client.post(ASK, data=data, headers=headers)


async def asked(visitor: Visitor, form: dict[str, Any], *, ids: Sequence[str] = ()) -> str:
    """The path of the operation a form made."""
    answer = await ask(visitor, form, ids=ids)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def shown(store: Store, path: str) -> BulkOperation:
    return await store.run(bulk.show(path.rpartition("/")[2]))


async def counted(store: Store, path: str) -> None:
    """Returns when the operation is ready: on a busy machine the answer leaves before a large one is."""
    for _ in range(400):
        if (await shown(store, path)).state is not BulkState.COLLECTING:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("still counting")


async def over(store: Store, path: str) -> BulkOperation:
    """The operation once the server is through with it."""
    for _ in range(400):
        operation = await shown(store, path)
        if operation.state.is_over or operation.state is BulkState.STOPPED:
            return operation
        await asyncio.sleep(0.02)
    raise AssertionError(f"still {operation.state}")


async def dead(store: Store, count: int, queue: str = "billing") -> list[str]:
    return [await kill_job(store, queue) for _ in range(count)]


async def fail(store: Store, queue: str, kind: str) -> str:
    claimed = await claim_job(store, queue)
    await settle(store, claimed, Outcome.FAIL, error_kind=kind, error_message="no", max_attempts=1)
    return claimed.id


async def fail_next(store: Store, queue: str) -> str:
    """The next job of a queue fails for good."""
    claimed = await claim_next(store, queue)
    await settle(store, claimed, Outcome.FAIL, error_kind="ValueError", error_message="no", max_attempts=1)
    return claimed.id


async def waiting(store: Store, count: int, queue: str = "mail", **fields: Any) -> list[str]:
    jobs = [new_job("send_email", {}, queue=queue, **fields) for _ in range(count)]
    return [enqueued.id for enqueued in await store.run(operations.enqueue_many(jobs))]


async def states(store: Store, ids: Sequence[str]) -> list[JobState]:
    return [(await store.run(reads.job(job_id))).state for job_id in ids]


def start(page: str, path: str) -> dict[str, str]:
    """What the confirmation sends if nothing is changed in it."""
    form = re.search(rf'<form[^>]*action="{re.escape(path)}/run".*?</form>', page, re.DOTALL)
    assert form is not None
    typed = {
        name: found[1]
        for name in ("rate", "stop_at")
        if (found := re.search(rf'name="{name}"[^>]*?value="([^"]*)"', form[0], re.DOTALL))
    }
    return hidden_fields(page, f"{path}/run") | typed


async def test_a_group_is_counted_confirmed_and_replayed_and_what_dies_later_is_not(
    operator: Visitor, store: Store
) -> None:
    ids = await dead(store, 3)
    page = (await operator.get("/console/dead")).text
    assert "Retry 3…" in words(page)
    fields = hidden_fields(page.split('id="groups"')[1], ASK)

    path = await asked(operator, fields | {"action": "retry"})
    late = await dead(store, 1)
    confirmation = await operator.get(path)
    told = words(confirmation.text)
    answer = await operator.post(f"{path}/run", start(confirmation.text, path), reason="the provider is back")

    assert "Retry 3 dead jobs?" in told
    assert "Queue billing" in told
    assert "exactly these jobs, none that comes later" in told
    assert answer.status_code == 303
    done = await over(store, path)
    assert (done.state, done.counts.done, done.run_reason) == (BulkState.DONE, 3, "the provider is back")
    assert (done.order.rate_per_second, done.order.stop_at_failure_rate) == (20, 0.2)
    assert await states(store, [*ids, *late]) == [JobState.READY] * 3 + [JobState.DEAD]
    page = words((await operator.get(path)).text)
    assert "Retrying 3 dead jobs." in page
    assert "3 of 3" in page
    assert "the provider is back" in page
    assert "Retry 3 dead jobs" in words((await operator.get(ASK)).text)


async def test_ticked_jobs_alone_are_touched(operator: Visitor, store: Store) -> None:
    ids = await waiting(store, 5)
    await operator.get("/console/jobs?queue=mail&state=ready")

    path = await asked(operator, {"list": "jobs", "state": "ready", "action": "delete"}, ids=ids[:2])
    page = (await operator.get(path)).text
    await operator.post(f"{path}/run", start(page, path))

    assert "Delete 2 ready jobs?" in words(page)
    assert "cannot be brought back" in words(page)
    assert (await over(store, path)).counts.done == 2
    assert (await store.run(reads.queue("mail"))).counts[JobState.READY] == 3


async def test_all_that_match_a_search_are_counted_first(operator: Visitor, store: Store) -> None:
    await dead(store, 2)
    page = (await operator.get("/console/dead/jobs?queue=billing&type=echo")).text

    path = await asked(operator, hidden_fields(page, ASK) | {"all": "1", "action": "delete"})

    assert "All that match" in words(page)
    operation = await shown(store, path)
    assert (operation.counts.total, operation.order.filter.type) == (2, "echo")


async def test_everything_of_every_queue_and_state_is_not_on_offer(operator: Visitor, store: Store) -> None:
    await waiting(store, 1)
    page = (await operator.get("/console/jobs")).text

    refused = await ask(operator, {"list": "jobs", "all": "1", "action": "delete"})

    assert 'name="all"' not in page
    assert refused.status_code == 400
    assert (await store.run(bulk.operations())).total == 0


async def test_delayed_jobs_are_cancelled_without_those_that_are_ready(operator: Visitor, store: Store) -> None:
    ready = await waiting(store, 1)
    later = await waiting(store, 2, delay_ms=3_600_000)
    fields = hidden_fields((await operator.get("/console/delayed")).text, ASK)

    path = await asked(operator, fields | {"all": "1", "action": "cancel"})
    page = (await operator.get(path)).text
    await operator.post(f"{path}/run", start(page, path))

    assert "Cancel 2 delayed jobs?" in words(page)
    assert (await over(store, path)).counts.done == 2
    assert await states(store, [*ready, *later]) == [JobState.READY, JobState.CANCELLED, JobState.CANCELLED]


async def test_nothing_ticked_is_told_and_nothing_is_made(operator: Visitor, store: Store) -> None:
    await dead(store, 1)
    await operator.get("/console/dead/jobs")

    answer = await ask(operator, {"list": "dead", "action": "retry"})

    assert answer.headers["location"] == "/console/dead/jobs"
    assert "Tick at least one job" in words((await operator.get("/console/dead/jobs")).text)
    assert (await store.run(bulk.operations())).total == 0


async def test_who_leaves_too_many_lying_about_is_led_to_them(operator: Visitor, store: Store) -> None:
    await dead(store, 1)
    await operator.get("/console/dead")
    path = await asked(operator, OF_DEAD)
    mine = (await shown(store, path)).order
    for number in range(4):
        await store.run(bulk.create(f"{number:032x}", mine))

    refused = await ask(operator, OF_DEAD | {"queue": "billing"}, htmx=True)

    assert refused.headers["hx-redirect"] == "/console/operations?state=open"
    page = (await operator.get("/console/operations?state=open")).text
    assert "5 of your operations are not over: run or abort one of them first." in words(page)
    assert f'href="{path}"' in page
    trail = (await search(store, Filter(action="bulk.create"), before=None, limit=50)).rows
    assert [row.entry.result for row in trail if row.entry] == ["refused", "ok"]
    await operator.post(f"{path}/discard")
    assert await asked(operator, OF_DEAD | {"queue": "billing"}) != path


async def test_the_same_form_twice_is_one_operation_and_a_run_twice_is_one_run(operator: Visitor, store: Store) -> None:
    await dead(store, 2)
    await operator.get("/console/dead")

    first, second = await asyncio.gather(asked(operator, OF_DEAD), asked(operator, OF_DEAD))
    page = (await operator.get(first)).text
    form = start(page, first)
    answers = await asyncio.gather(*(operator.post(f"{first}/run", form) for _ in range(2)))

    assert first == second
    assert [answer.status_code for answer in answers] == [303, 303]
    done = await over(store, first)
    assert (done.run, done.counts.done) == (1, 2)


async def test_the_same_form_is_one_operation_over_the_end_of_a_minute(
    operator: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await dead(store, 2)
    await operator.get("/console/dead")
    begins = time.time() // 60 * 60
    monkeypatch.setattr(operation_request, "_SAME_S", 180)

    found = []
    for now in (begins - 0.1, begins + 0.1):
        clock = SimpleNamespace(time=lambda now=now: now, monotonic=time.monotonic)
        monkeypatch.setattr(operation_request, "time", clock)
        found.append(await asked(operator, OF_DEAD))

    assert found[0] == found[1]


async def test_after_one_was_dropped_the_same_form_asks_anew(operator: Visitor, store: Store) -> None:
    await dead(store, 2)
    await operator.get("/console/dead")
    first = await asked(operator, OF_DEAD)

    await operator.get("/console/dead")
    dropped = await operator.post(f"{first}/discard")
    second = await asked(operator, OF_DEAD)

    assert dropped.headers["location"] == "/console/dead"
    assert "Left 2 dead jobs as they were." in words((await operator.get("/console/dead")).text)
    assert first != second
    assert (await shown(store, first)).state is BulkState.ABORTED
    assert "Nothing was done" in words((await operator.get(first)).text)


async def test_with_script_the_confirmation_comes_at_once_for_the_dialog(operator: Visitor, store: Store) -> None:
    await dead(store, 2)
    await operator.get("/console/dead")

    answer = await ask(operator, OF_DEAD, htmx=True)
    dialog = await operator.get(answer.headers["location"], htmx=True)

    assert answer.status_code == 303
    assert "hx-redirect" not in answer.headers
    assert 'id="confirm"' in dialog.text
    assert "data-if-closed" in dialog.text


async def test_above_a_thousand_a_word_is_asked_for_by_the_server(operator: Visitor, store: Store) -> None:
    ids = await waiting(store, 1001)
    await operator.get("/console/jobs?queue=mail")
    path = await asked(operator, {"list": "jobs", "queue": "mail", "all": "1", "action": "cancel"})
    await counted(store, path)
    page = (await operator.get(path)).text
    assert "Type cancel to confirm" in words(page)

    refusals = [await operator.post(f"{path}/run", start(page, path), word=word) for word in ("", "delete", "yes")]
    begun = await operator.post(f"{path}/run", start(page, path), word=" Cancel ")

    for refused in refusals:
        assert refused.status_code == 422
        assert "Type the word cancel to confirm." in words(refused.text)
    assert begun.status_code == 303
    assert (await over(store, path)).counts.done == len(ids)


async def test_a_pace_that_cannot_be_is_asked_for_again_and_nothing_begins(operator: Visitor, store: Store) -> None:
    await dead(store, 1)
    await operator.get("/console/dead")
    path = await asked(operator, OF_DEAD)
    form = start((await operator.get(path)).text, path)

    for field, problem, values in (
        ("rate", "A whole number from 1 to 10,000.", ("0", "10001", "\N{SUPERSCRIPT TWO}", "", "1e3", "9" * 999)),
        ("stop_at", "A percentage from 0 to 100, or nothing for never.", ("101", "nan", "many", "-1")),
    ):
        for value in values:
            answer = await operator.post(f"{path}/run", form | {field: value})
            assert (answer.status_code, value) == (422, value)
            assert problem in words(answer.text)
    assert (await shown(store, path)).state is BulkState.READY


async def test_a_second_operator_is_told_who_replays_these_already(
    operator: Visitor, store: Store, another: Callable[[], Visitor]
) -> None:
    await dead(store, 30)
    await operator.get("/console/dead")
    first = await asked(operator, OF_DEAD)
    ben = another()
    await store.run(calls.declare_account("ben", password_hash=PASSWORD_HASH, roles=[Role.OPERATOR]))
    await ben.post("/console/login", username="ben", password=PASSWORD)
    await ben.get("/console/dead")
    second = await asked(ben, OF_DEAD)
    unaware = start((await ben.get(second)).text, second)

    await operator.post(f"{first}/run", start((await operator.get(first)).text, first) | {"rate": "1"})
    refused = await ben.post(f"{second}/run", unaware)
    told = words(refused.text)
    begun = await ben.post(f"{second}/run", start(refused.text, second) | {"rate": "1000"})

    assert refused.status_code == 422
    assert "Somebody has begun on these jobs meanwhile." in told
    assert "Already being retried by operator:" in told
    assert begun.status_code == 303
    mine, theirs = await over(store, second), await shown(store, first)
    assert mine.counts.done + mine.counts.changed == 30
    assert mine.counts.done > 0
    assert theirs.run_by == "operator"
    for job in (await store.run(reads.jobs("billing", JobState.READY))).items:
        assert job.replays == 1


async def test_what_is_paused_is_gone_on_with_and_what_is_aborted_is_over(operator: Visitor, store: Store) -> None:
    await dead(store, 30)
    await operator.get("/console/dead")
    path = await asked(operator, OF_DEAD)
    await operator.post(f"{path}/run", start((await operator.get(path)).text, path) | {"rate": "1"})

    going = (await operator.get(path)).text
    paused = await operator.post(f"{path}/pause")
    page = (await operator.get(path)).text
    assert f'<a class="btn without-script" href="{path}">Look again</a>' in going
    assert "Look again" not in page
    assert paused.status_code == 303, words(paused.text)
    assert paused.headers["location"] == path
    assert "are left as they are until somebody goes on" in words(page)
    await operator.post(f"{path}/run", start(page, path) | {"rate": "2", "stop_at": ""})
    running = await shown(store, path)
    question = words((await operator.get(f"{path}/abort")).text)
    await operator.post(f"{path}/abort", reason="wrong group")

    assert (running.state, running.run, running.order.rate_per_second) == (BulkState.RUNNING, 2, 2)
    assert running.order.stop_at_failure_rate is None
    assert "What is done stays done." in question
    assert (await shown(store, path)).state is BulkState.ABORTED
    assert "Aborted:" in words((await operator.get(path)).text)
    assert (await operator.post(f"{path}/run", rate="1", known="")).status_code == 409


async def test_viewers_look_on(visit: Callable[[Role], Any], store: Store, another: Callable[[], Visitor]) -> None:
    ids = await dead(store, 2)
    await waiting(store, 1, delay_ms=3_600_000)
    viewer: Visitor = await visit(Role.VIEWER)
    boss = another()
    await store.run(calls.declare_account("boss", password_hash=PASSWORD_HASH, roles=[Role.OPERATOR]))
    await boss.post("/console/login", username="boss", password=PASSWORD)
    await boss.get("/console/dead")
    path = await asked(boss, OF_DEAD)

    lists = ("/console/jobs", "/console/jobs?state=dead", "/console/delayed", "/console/dead", "/console/dead/jobs")
    for where in (*lists, path, ASK):
        page = (await viewer.get(where)).text
        assert 'name="action"' not in page, where
        assert 'form="pick"' not in page, where
        assert "/run" not in page, where
    assert "It waits for boss" in words((await viewer.get(path)).text)
    for step in ("run", "pause", "discard", "abort"):
        assert (await viewer.post(f"{path}/{step}")).status_code == 403
    assert (await ask(viewer, OF_DEAD)).status_code == 403
    assert (await viewer.get(f"{ASK}/new?action=retry&queue=billing")).status_code == 403
    assert await states(store, ids) == [JobState.DEAD] * 2


async def test_forms_of_other_sites_are_refused(operator: Visitor, store: Store) -> None:
    await dead(store, 1)
    await operator.get("/console/dead")

    without = await operator.post(ASK, OF_DEAD, csrf=False)
    elsewhere = await operator.post(ASK, OF_DEAD, origin="cross-site")

    assert (without.status_code, elsewhere.status_code) == (403, 403)
    assert (await store.run(bulk.operations())).total == 0


async def test_links_that_act_on_many_say_what_would_be_counted(operator: Visitor, store: Store) -> None:
    await dead(store, 2)

    page = (await operator.get(f"{ASK}/new?action=retry&queue=billing")).text
    fields = hidden_fields(page, ASK)
    path = await asked(operator, fields | {"action": "retry"})

    assert "Retry dead jobs?" in words(page)
    assert (await store.run(bulk.operations())).total == 1
    assert (await shown(store, path)).counts.total == 2


async def test_ticked_groups_are_one_operation_and_no_other_group_is_touched(operator: Visitor, store: Store) -> None:
    ids = [await fail(store, queue, kind) for queue in ("billing", "mail") for kind in ("KeyError", "OSError")]
    await dead(store, 1, "untouched")
    page = (await operator.get("/console/dead")).text
    boxes = {box.partition("/")[0]: box for box in re.findall(r'name="group_of"\s+value="([^"]+)"', page)}
    every = re.findall(r'name="group_of"\s+value="([^"]+)"', page)
    form = {"list": "dead", "action": "retry"}

    nothing = await ask(operator, form)
    path = await asked(operator, form | {"group_of": [boxes["billing"], boxes["mail"]]})
    await counted(store, path)
    operation = await shown(store, path)
    confirmation = await operator.get(path)
    await operator.post(f"{path}/run", start(confirmation.text, path), reason="both are mended")
    await over(store, path)

    assert len(every) == len(set(every)) == 5
    assert nothing.headers["location"] == "/console/dead"
    assert operation.counts.total == 2
    assert sorted(operation.queues) == ["billing", "mail"]
    assert "one of 2 ticked errors" in words(confirmation.text)
    found = await states(store, ids)
    assert (found.count(JobState.READY), found.count(JobState.DEAD)) == (2, 2)
    too_many = [f"billing/{number}" for number in range(101)]
    assert (await ask(operator, form | {"group_of": too_many})).status_code == 400
    assert (await ask(operator, form | {"group_of": ["no slash"]})).status_code == 400
    assert (await ask(operator, form | {"group_of": ["nowhere/x"]})).status_code == 404


async def test_what_fails_again_is_found_by_its_operation_and_bulk_actions_stay_with_it(
    operator: Visitor, store: Store
) -> None:
    await dead(store, 2)
    await operator.get("/console/dead")
    path = await asked(operator, OF_DEAD)
    await operator.post(f"{path}/run", start((await operator.get(path)).text, path))
    operation = await over(store, path)
    again = await fail_next(store, "billing")
    await dead(store, 3, "mail")

    found = (await operator.get(f"/console/dead/jobs?operation={operation.id}")).text
    second = await asked(operator, OF_DEAD | {"operation": operation.id})

    assert re.findall(r'<tr id="job-([^"]+)"', found) == [again]
    assert f"operation {operation.id[:8]}" in words(found)
    assert f'name="operation" value="{operation.id}"' in found
    assert [job.id for job in (await shown(store, second)).sample] == [again]


async def test_what_was_dropped_before_it_began_is_listed_apart(operator: Visitor, store: Store) -> None:
    await dead(store, 1)
    await operator.get("/console/dead")
    dropped = await asked(operator, OF_DEAD)
    rail = (await operator.get("/console/queues")).text
    await operator.post(f"{dropped}/discard", reason="not now")
    begun = await asked(operator, OF_DEAD)
    await operator.post(f"{begun}/run", start((await operator.get(begun)).text, begun))
    await over(store, begun)

    listed = {which: (await operator.get(f"{ASK}?state={which}")).text for which in ("", "aborted", "dropped")}

    assert re.search(r"Operations\s+1\b", words(rail))
    assert not re.search(r"Operations\s+\d", words(listed[""].split("<main")[0]))
    assert [dropped in page for page in listed.values()] == [False, False, True]
    assert [begun in page for page in listed.values()] == [True, False, False]


async def test_nothing_to_do_is_said(operator: Visitor, store: Store) -> None:
    await waiting(store, 1)
    await operator.get("/console/dead")

    path = await asked(operator, OF_DEAD)

    assert "Nothing to retry" in words((await operator.get(path)).text)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("?state=nonsense", 400),
        ("?state=done&offset=99999999", 200),
        ("?offset=-1", 200),
        ("/nowhere", 404),
        ("/new?action=explode", 400),
        ("/new?action=retry&list=nonsense", 400),
        ("/new?action=delete", 400),
        ("/new?action=promote&state=dead", 400),
        ("/new", 400),
    ],
)
async def test_nonsense_in_the_address_is_answered(operator: Visitor, path: str, status: int) -> None:
    assert (await operator.get(ASK + path)).status_code == status


@pytest.mark.parametrize(
    "form",
    [
        {"action": "explode", "all": "1"},
        {"action": "retry", "all": "1", "list": "nonsense"},
        {"action": "retry", "all": "1", "list": "dead", "within": "soon"},
        {"action": "retry", "all": "1", "list": "dead", "group": "x"},
        {"action": "promote", "all": "1", "list": "dead"},
        {"action": "retry", "id": "not-an-id", "list": "dead"},
        {},
    ],
)
async def test_forms_nobody_was_shown_are_refused(operator: Visitor, store: Store, form: dict[str, str]) -> None:
    await dead(store, 1)
    await operator.get("/console/dead")

    answer = await operator.post(ASK, form)

    assert answer.status_code == 400
    assert (await store.run(bulk.operations())).total == 0
