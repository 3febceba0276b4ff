"""A queue's settings: what the form takes, what is shown before anything changes, and that only that changes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from leaseforge import operations, reads
from leaseforge.errors import BadInput
from leaseforge.exchanges import Outcome
from leaseforge.queues import QueueLimits
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.audit.search import Filter, search
from leaseforge_auth.roles import Role
from leaseforge_console.forms import Sent
from leaseforge_console.views import queue_settings as view
from tests.api.support import claim_job, settle
from tests.console import sample
from tests.console.browsing import Visitor, hidden_fields, words

SETTINGS = "/console/queues/mail/settings"


def typed(**fields: str) -> Sent:
    return Sent(list(fields.items()))


async def make_queue(store: Store, **limits: float | None) -> None:
    await store.run(operations.enqueue(new_job("send_email", {}, queue="mail")))
    if limits:
        await store.run(operations.configure("mail", limits))


async def limits_of(store: Store) -> QueueLimits:
    return (await store.run(reads.queue("mail"))).limits


def test_what_is_typed_becomes_the_engines_values() -> None:
    values = view.read_form(
        typed(
            max_running="1,000", rate="0.5", keep_ms="1.5", keep_ms_unit="h", dead_keep_ms="30", dead_keep_ms_unit="d"
        )
    )

    assert values == {
        "max_running": 1000,
        "rate": 0.5,
        "burst": None,
        "keep_ms": 5_400_000,
        "keep": None,
        "dead_keep_ms": 30 * 86_400_000,
        "dead_keep": None,
    }


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"max_running": "0"}, ["max_running"]),
        ({"max_running": "1.5", "rate": "fast"}, ["max_running", "rate"]),
        ({"rate": "-1"}, ["rate"]),
        ({"rate": "1e400"}, ["rate"]),
        ({"burst": "9" * 20}, ["burst"]),
        ({"keep_ms": "10", "keep_ms_unit": "s"}, ["keep_ms"]),
        ({"keep_ms": "10", "keep_ms_unit": "weeks"}, ["keep_ms"]),
        ({"keep_ms": "10"}, ["keep_ms"]),
        ({"dead_keep": "\N{ARABIC-INDIC DIGIT THREE}"}, ["dead_keep"]),
    ],
)
def test_what_cannot_be_is_named_with_its_bounds(fields: dict[str, str], wrong: list[str]) -> None:
    with pytest.raises(BadInput) as caught:
        view.read_form(typed(**fields))

    assert [problem.field for problem in caught.value.problems] == wrong
    assert all(" to " in problem.message for problem in caught.value.problems)


def test_the_form_reads_back_what_it_shows() -> None:
    limits = QueueLimits(max_running=7, rate=2.5, burst=3, keep_ms=5_400_000, keep=0, dead_keep_ms=86_400_000)
    info = replace(sample.queue("mail"), limits=limits)

    shown = {}
    for _, fields in view.form(info).groups:
        for field in fields:
            shown[field.setting.name] = field.text
            if field.units:
                shown[f"{field.setting.name}_unit"] = next(unit.value for unit in field.units if unit.is_chosen)

    assert view.changed(info, view.read_form(typed(**shown))) == {}


def test_what_a_change_deletes_is_counted() -> None:
    info = sample.queue("mail", running=9, completed=1500, cancelled=20, dead=3000)

    fewer = view.review(info, {"max_running": 4, "keep": 1000, "dead_keep": None}, back="")
    sooner = view.review(info, {"dead_keep_ms": 3_600_000}, back="", word="no")
    longer = view.review(info, {"keep_ms": 7 * 86_400_000}, back="")

    assert fewer.effects == (
        "9 jobs run now: nothing is taken until fewer than 4 do.",
        "Up to 500 completed jobs will be deleted. They cannot be brought back.",
    )
    assert (fewer.deletes, fewer.word, longer.deletes) == (500, None, 0)
    assert (sooner.deletes, sooner.word, sooner.is_refused) == (3000, "change", True)


async def test_old_and_new_are_shown_and_only_the_change_is_made(
    operator: Visitor, store: Store, visit: Callable[[Role], Any]
) -> None:
    await make_queue(store, max_running=10, burst=5)
    form = (await operator.get(SETTINGS)).text
    assert 'name="max_running" value="10"' in " ".join(form.split())
    query = urlencode({"max_running": "2", "rate": "", "burst": "5", "keep_ms": "2", "keep_ms_unit": "d"})

    review = (await operator.get(f"{SETTINGS}/review?{query}")).text

    assert "Cap 10 2" in words(review)
    assert "Keep ended jobs for 1 d (default) 2 d" in words(review)
    assert "Burst" not in words(review)
    assert await limits_of(store) == QueueLimits(max_running=10, burst=5)
    answer = await operator.post(SETTINGS, hidden_fields(review, SETTINGS), reason="the provider is slow")
    assert answer.headers["location"] == "/console/queues/mail"
    assert await limits_of(store) == QueueLimits(max_running=2, burst=5, keep_ms=172_800_000)
    assert "Changed mail: cap 2, keep ended jobs for 2 d." in words((await operator.get("/console/queues/mail")).text)
    [entry] = [
        row.entry
        for row in (await search(store, Filter(action="queue.configure"), before=None, limit=9)).rows
        if row.entry
    ]
    assert (entry.target, entry.reason) == ("mail", "the provider is slow")
    assert entry.detail == {
        "before": {"max_running": 10, "keep_ms": None},
        "after": {"max_running": 2, "keep_ms": 172_800_000},
    }


async def test_a_change_made_meanwhile_is_shown_and_not_overwritten(operator: Visitor, store: Store) -> None:
    await make_queue(store, max_running=10)
    fields = hidden_fields((await operator.get(f"{SETTINGS}/review?max_running=2")).text, SETTINGS)
    await store.run(operations.configure("mail", {"max_running": 50}))

    answer = await operator.post(SETTINGS, fields)

    assert answer.status_code == 422
    assert "Somebody else changed these settings meanwhile." in words(answer.text)
    assert "Cap 50 2" in words(answer.text)
    assert (await limits_of(store)).max_running == 50
    await operator.post(SETTINGS, hidden_fields(answer.text, SETTINGS))
    assert (await limits_of(store)).max_running == 2


async def test_wrong_values_come_back_as_they_were_typed(operator: Visitor, store: Store) -> None:
    await make_queue(store)

    wrong = await operator.get(f"{SETTINGS}/review?max_running=many&rate=3")
    same = await operator.get(f"{SETTINGS}/review?max_running=")

    assert wrong.status_code == 422
    assert "Must be 1 to 1,000,000." in words(wrong.text)
    assert 'value="many"' in wrong.text
    assert 'value="3"' in wrong.text
    assert "These are the values it has already." in words(same.text)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name_max_running": "1", "after_max_running": "0"},
        {"name_max_running": "1", "after_max_running": "x"},
        {"name_rate": "1", "before_rate": "nan", "after_rate": "1"},
        {"name_everything": "1", "after_everything": "1"},
    ],
)
async def test_broken_fields_change_nothing(operator: Visitor, store: Store, fields: dict[str, str]) -> None:
    await make_queue(store)
    await operator.get(f"{SETTINGS}/review?max_running=2")

    answer = await operator.post(SETTINGS, fields)

    assert answer.status_code == 400
    assert await limits_of(store) == QueueLimits()


async def test_more_than_a_thousand_are_deleted_only_with_the_word(operator: Visitor, store: Store) -> None:
    for _ in range(3):
        await settle(store, await claim_job(store, "mail"), Outcome.COMPLETE)
    await make_queue(store)
    review = (await operator.get(f"{SETTINGS}/review?keep=1")).text

    assert "Up to 2 completed jobs will be deleted." in words(review)
    assert 'name="word"' not in review
    await operator.post(SETTINGS, hidden_fields(review, SETTINGS))
    assert (await limits_of(store)).keep == 1


async def test_viewers_see_limits_and_cannot_change_them(visit: Callable[[Role], Any], store: Store) -> None:
    await make_queue(store, max_running=10, rate=2.5)
    viewer: Visitor = await visit(Role.VIEWER)

    page = (await viewer.get("/console/queues/mail")).text

    assert "cap 10 · rate 2.5 jobs/s" in words(page)
    assert "/settings" not in page
    for path in (SETTINGS, f"{SETTINGS}/review?max_running=1"):
        assert (await viewer.get(path)).status_code == 403
    assert (await viewer.post(SETTINGS, name_max_running="1", after_max_running="1")).status_code == 403
    assert (await limits_of(store)).max_running == 10


async def test_a_pause_is_asked_about_and_its_reason_kept(operator: Visitor, store: Store) -> None:
    await make_queue(store)
    asked = words((await operator.get("/console/queues/mail/pause")).text)
    assert "1 ready job waits meanwhile" in asked
    assert "Reason" in asked

    answer = await operator.post("/console/queues/mail/pause", reason="the provider is down")

    assert answer.headers["location"] == "/console/queues/mail"
    assert "The queue is paused already." in words((await operator.get("/console/queues/mail/pause")).text)
    assert "Workers take jobs of the queue again" in words((await operator.get("/console/queues/mail/resume")).text)
    await operator.post("/console/queues/mail/resume", reason="it is back")
    assert "The queue is not paused." in words((await operator.get("/console/queues/mail/resume")).text)
    found = await search(store, Filter(target="mail"), before=None, limit=9)
    assert [row.entry.reason for row in found.rows if row.entry] == ["it is back", "the provider is down"]
