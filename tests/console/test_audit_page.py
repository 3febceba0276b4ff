import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import redis

from leaseforge.store import Store
from leaseforge_auth import keys
from leaseforge_auth.audit.chain import Chain
from leaseforge_auth.audit.entries import Entry, Result, Step
from leaseforge_auth.audit.search import Found, Row
from leaseforge_auth.audit.trail import AuditTrail
from leaseforge_auth.roles import Role
from leaseforge_console.views import audit
from tests.console.browsing import Visitor, words
from tests.console.conftest import SECRET


async def write(store: Store, *entries: Entry) -> None:
    trail = AuditTrail(store, Chain([SECRET]), keep=10_000)
    for entry in entries:
        await trail.append(entry)


def entry(number: int, *, step: Step = Step.OUTCOME, **fields: Any) -> Entry:
    values: dict[str, Any] = {
        "action": "queue.purge",
        "user": "ada",
        "target": "mail",
        "result": Result.OK,
        "status": 200,
    } | fields
    return Entry(id=f"{number:032x}", step=step, at_ms=0, **values)


@pytest.fixture
async def admin(visit: Callable[[Role], Any]) -> Visitor:
    visitor: Visitor = await visit(Role.ADMIN)
    return visitor


async def test_actions_are_told_with_who_what_why_and_how_they_ended(admin: Visitor, store: Store) -> None:
    await write(
        store,
        entry(1, reason="wrong <campaign>", detail={"removed": 12}, roles=("operator",), credential="session"),
        entry(2, result=Result.REFUSED, status=403, user="bob"),
        entry(3, result=Result.FAILED, status=503, action="job.retry", target="8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11"),
    )

    page = (await admin.get("/console/audit")).text
    told = words(page)

    assert "queue.purge ok mail “wrong <campaign>” ada" in told
    assert '"removed": 12' in told
    assert "Shown a console session" in told
    assert "queue.purge refused mail bob" in told
    assert "Something may have been changed" in told
    assert 'href="/console/jobs/8f3b0c52-6d0e-4b7b-9d0c-2f6d1b7f3c11"' in page
    assert told.index("job.retry failed") < told.index("queue.purge ok"), "the newest comes first"
    assert "without an outcome" not in told


async def test_an_action_without_an_outcome_is_unknown_and_explained(admin: Visitor, store: Store) -> None:
    await write(store, entry(1, step=Step.INTENT, result=Result.UNKNOWN, status=0))

    told = words((await admin.get("/console/audit?action=queue")).text)

    assert "queue.purge unknown mail" in told
    assert "1 action without an outcome." in told
    assert "look at the target" in told


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("user=ada", {1, 3}),
        ("user=bob", {2}),
        ("action=queue", {1, 2}),
        ("action=queue.purge&user=ada", {1}),
        ("target=media", {2}),
        ("result=refused", {2}),
        ("since=2000-01-01T00:00&user=ada", {1, 3}),
        ("since=2000-01-01+00:00:00&until=2001-01-01T00:00Z", set()),
        ("user=nobody", set()),
    ],
)
async def test_filters_stand_in_the_address(admin: Visitor, store: Store, query: str, found: set[int]) -> None:
    await write(
        store,
        entry(1),
        entry(2, user="bob", target="media", result=Result.REFUSED),
        entry(3, action="job.delete", target="x"),
    )

    page = (await admin.get(f"/console/audit?{query}")).text

    assert {number for number in (1, 2, 3) if f"{number:032x}" in page} == found
    assert ("No action matches" in page) is (not found)
    assert "looked at" in page


async def test_what_was_typed_stays_in_the_filters(admin: Visitor) -> None:
    page = (await admin.get('/console/audit?user="><b>&action=queue&result=ok&since=2026-11-30T08:15Z')).text

    assert 'value="&#34;&gt;&lt;b&gt;"' in page
    assert re.search(r'<option value="ok"\s+selected>', page)
    assert 'value="2026-11-30T08:15:00"' in page
    assert '<option value="queue.purge">' in page


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("result=great", "No such result."),
        ("since=yesterday", "is no date and time"),
        ("until=2026-99-01T00:00", "is no date and time"),
        ("since=2026-11-30T08:00&until=2026-11-29T08:00", "Must be later than the begin."),
        ("since=0001-01-01T00:00%2B23:00", "is no date and time"),
    ],
)
async def test_a_filter_nobody_can_understand_is_told_and_nothing_is_looked_for(
    admin: Visitor, store: Store, query: str, problem: str
) -> None:
    await write(store, entry(1))

    answer = await admin.get(f"/console/audit?{query}")

    assert answer.status_code == 400
    assert problem in words(answer.text)
    assert f"{1:032x}" not in answer.text
    assert (await admin.get(f"/console/audit/export?{query}")).status_code == 400


@pytest.mark.parametrize("before", ["0", "-1", "x", "9" * 30])
async def test_a_broken_place_is_an_error_page(admin: Visitor, before: str) -> None:
    assert (await admin.get(f"/console/audit?before={before}")).status_code == 400


async def test_older_actions_are_a_page_further(admin: Visitor, store: Store) -> None:
    await write(store, *(entry(number) for number in range(1, 61)))

    first = (await admin.get("/console/audit?action=queue.purge")).text
    [older] = [part.split('"')[0] for part in first.split('href="') if "before=" in part.split('"')[0]]
    second = (await admin.get(older.replace("&amp;", "&"))).text

    shown = [{number for number in range(1, 61) if f"{number:032x}" in page} for page in (first, second)]
    assert shown == [set(range(11, 61)), set(range(1, 11))]
    assert 'href="/console/audit?action=queue.purge"' in second


async def test_the_export_holds_all_that_match_as_lines(admin: Visitor, store: Store) -> None:
    await write(store, *(entry(number) for number in range(1, 61)), entry(99, user="bob"))

    answer = await admin.get("/console/audit/export?action=queue&user=ada")

    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["id"] for line in lines] == [f"{number:032x}" for number in range(1, 61)]
    assert answer.headers["content-disposition"] == 'attachment; filename="audit.jsonl"'
    assert answer.headers["cache-control"] == "no-store"


async def test_a_damaged_entry_is_shown_as_such(admin: Visitor, store: Store, redis_url: str) -> None:
    await write(store, entry(1))
    with redis.Redis.from_url(redis_url) as raw:
        last, fields = raw.xrevrange(keys.AUDIT, count=1)[0]
        raw.xdel(keys.AUDIT, last)
        raw.xadd(keys.AUDIT, {**fields, b"body": b"{"}, id=f"{last.decode().partition('-')[0]}-1")

    told = words((await admin.get("/console/audit")).text)

    assert "unreadable" in told


async def test_only_administrators_find_it(visit: Callable[[Role], Any]) -> None:
    operator: Visitor = await visit(Role.OPERATOR)

    assert (await operator.get("/console/audit")).status_code == 403
    assert 'href="/console/audit"' not in (await operator.get("/console")).text


def test_a_search_that_stopped_says_how_far_it_came_and_goes_on() -> None:
    query = audit.read_query(user="ada", action="", target="", result="", since="", until="")

    page = audit.build(query, Found((), 5_000, 48_112, 43_112), [], is_first=True)

    assert page.searched == "looked at 5,000 of 48,112 entries"
    assert page.older == "/audit?user=ada&before=43112"


def test_an_entry_that_cannot_be_read_does_not_hide_the_others() -> None:
    query = audit.read_query(user="", action="", target="", result="", since="", until="")
    good = entry(1, action="user.delete", target="../../x")

    page = audit.build(query, Found((Row(9, None), Row(8, good)), 2, 2, None), [], is_first=True)

    assert [row.result for row in page.rows] == ["unreadable", "ok"]
    assert page.rows[1].path == "", "only what can be a name becomes a link"
    assert page.rows[1].at == datetime.fromtimestamp(0, UTC)


async def test_a_page_of_the_largest_entries_stays_small(admin: Visitor, store: Store) -> None:
    largest: dict[str, Any] = {"reason": "r" * 500, "target": "t" * 200, "detail": {"ids": ["8f3b0c52-6d0e"] * 250}}
    await write(store, *(entry(number, **largest) for number in range(60)))

    page = (await admin.get("/console/audit")).content

    assert len(page) < 200_000
    assert b"the export has all of it" in page


def test_what_was_made_is_named_where_there_is_no_target() -> None:
    query = audit.read_query(user="", action="", target="", result="", since="", until="")
    made = [{"username": "ada"}, {"name": "billing", "kind": "service"}, {"name": 7}, {}]
    rows = tuple(Row(number, entry(number, target="", detail=detail)) for number, detail in enumerate(made))

    page = audit.build(query, Found(rows, 4, 4, None), [], is_first=True)

    assert [row.about for row in page.rows] == ["ada", "billing", "", ""]
