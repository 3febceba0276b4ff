"""Lists of jobs as files: complete, safe for spreadsheets, masked, bounded, audited, and ended when nobody listens."""

import asyncio
import csv
import io
import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, cast

import pytest
from litestar import Litestar
from structlog.testing import capture_logs

from leaseforge import events, operations
from leaseforge import exporting as engine_exporting
from leaseforge.calls import Plan
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.redaction import redact
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.audit.search import Filter, search
from leaseforge_auth.roles import Role
from leaseforge_auth.sessions import Sessions
from leaseforge_console import exporting, exports
from leaseforge_console.exporting import COLUMNS, CONTENTS
from tests.api.support import claim_job, kill_job, settle
from tests.console.browsing import Visitor, words

EVIL = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\tx", "\rx", "  =1", "\uff1d1"]


async def enqueue(
    store: Store, *, count: int = 1, queue: str = "mail", payload: Any = None, **fields: Any
) -> list[str]:
    jobs = [
        new_job(fields.get("type", "send_email"), payload or {"to": "ada"}, queue=queue, **_rest(fields))
        for _ in range(count)
    ]
    return [enqueued.id for enqueued in await store.run(operations.enqueue_many(jobs))]


def _rest(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "type"}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


async def exported(visitor: Visitor, path: str) -> list[dict[str, Any]]:
    answer = await visitor.get(f"/console/export/{path}")
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_everything_that_matches_is_in_the_file_and_nothing_else(operator: Visitor, store: Store) -> None:
    ids = await enqueue(store, count=230, tags=("vip",))
    await enqueue(store, count=3)
    await enqueue(store, queue="other", tags=("vip",))

    answer = await operator.get("/console/export/jobs.csv?queue=mail&tag=vip&place=0")

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith('attachment; filename="jobs-')
    assert answer.headers["cache-control"] == "no-store"
    found = rows(answer.text)
    assert list(found[0]) == list(COLUMNS)
    assert {row["id"] for row in found} == set(ids)
    assert len(found) == 230
    assert answer.text.count("\r\n") == 231
    assert {row["id"] for row in await exported(operator, "jobs.jsonl?queue=mail&tag=vip")} == set(ids)


async def test_each_list_exports_what_it_shows(operator: Visitor, store: Store) -> None:
    await enqueue(store)
    [later] = await enqueue(store, delay_ms=60_000)
    dead = await kill_job(store, "mail")

    assert [row["id"] for row in await exported(operator, "delayed.jsonl")] == [later]
    [row] = await exported(operator, "dead.jsonl?queue=mail")
    assert (row["id"], row["state"], row["error_kind"], row["tags"]) == (dead, "dead", "ValueError", [])
    assert row["finished_at"].endswith("Z")
    assert len(await exported(operator, "jobs.jsonl")) == 3
    assert await exported(operator, "jobs.jsonl?state=running") == []
    assert rows((await operator.get("/console/export/jobs.csv?state=running")).text) == []


@pytest.mark.parametrize("text", EVIL)
async def test_a_spreadsheet_takes_no_text_for_a_formula(operator: Visitor, store: Store, text: str) -> None:
    await enqueue(store, priority=-7)
    claimed = await claim_job(store, "mail")
    await settle(store, claimed, Outcome.FAIL, error_kind="E", error_message=text, max_attempts=1)

    [dead, ready] = sorted(rows((await operator.get("/console/export/jobs.csv")).text), key=lambda row: row["state"])

    assert dead["error_message"] == f"'{text}"
    assert ready["priority"] == "-7"
    [plain] = await exported(operator, "dead.jsonl")
    assert plain["error_message"] == text


@pytest.mark.parametrize("between", [";", "; ", "\n", ';"'])
async def test_no_formula_begins_where_a_spreadsheet_ends_cells_otherwise(
    operator: Visitor, store: Store, between: str
) -> None:
    await enqueue(store)
    claimed = await claim_job(store, "mail")
    text = f"no{between}=cmd|' /C calc'!A0"
    await settle(store, claimed, Outcome.FAIL, error_kind="E", error_message=text, max_attempts=1)

    [row] = rows((await operator.get("/console/export/dead.csv")).text)

    assert row["error_message"] == f"no{between}'=cmd|' /C calc'!A0"


async def test_texts_survive_commas_quotes_and_lines(operator: Visitor, store: Store) -> None:
    text = 'a, "b" \N{PILE OF POO} ; \N{LATIN SMALL LETTER E WITH ACUTE}'
    await enqueue(store, payload={"note": f"{text}\r\n", "password": "hunter2"}, tags=(text, "x"))

    [row] = rows((await operator.get("/console/export/jobs.csv?payloads=1")).text)

    assert row["tags"] == f"{text}, x"
    assert json.loads(row["payload"]) == {"note": f"{text}\r\n", "password": "[masked]"}


async def test_payloads_are_masked_and_on_one_line(operator: Visitor, store: Store) -> None:
    pretty = b'{\n  "to": "ada",\n  "api_key": "s3cret",\n  "big": 12345678901234567890123\n}'
    await store.run(operations.enqueue(new_job("a", pretty, queue="mail", content_type="application/json")))
    plain = b'{\n "n": 1.50,\n "s": "two\\nlines"\n}'
    await store.run(operations.enqueue(new_job("b", plain, queue="mail", content_type="application/json")))
    await store.run(operations.enqueue(new_job("c", b"\x00\xff", queue="mail", content_type="image/png")))

    answer = await operator.get("/console/export/jobs.jsonl?payloads=1")

    assert "s3cret" not in answer.text
    masked, unmasked, binary = sorted(
        (json.loads(line) for line in answer.text.splitlines()), key=lambda row: row["type"]
    )
    assert list(masked) == [*COLUMNS, *CONTENTS]
    assert (masked["payload"]["api_key"], masked["payload_masked"]) == ("[masked]", True)
    assert '"n":1.50' in answer.text
    assert (unmasked["payload"]["s"], unmasked["payload_masked"]) == ("two\nlines", False)
    assert (binary["payload"], binary["payload_base64"], binary["content_type"]) == (None, "AP8=", "image/png")
    assert not set(CONTENTS) & set((await exported(operator, "jobs.jsonl"))[0])


async def test_a_file_that_is_cut_says_so(operator: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await enqueue(store, count=12)
    monkeypatch.setattr(exporting, "MOST", 11)
    monkeypatch.setattr(exporting, "MOST_WHOLE", 11)

    for more in ("", "?payloads=1"):
        found = rows((await operator.get(f"/console/export/jobs.csv{more}")).text)
        assert found[-1]["id"] == "CUT: only the first 11 jobs are in this file; there are more"
        assert len(found) == 12
        lines = await exported(operator, f"jobs.jsonl{more}")
        assert lines[-1]["cut"]["jobs"] == 11
        assert len(lines) == 12
    monkeypatch.setattr(exporting, "MOST", 12)
    assert len(rows((await operator.get("/console/export/jobs.csv")).text)) == 12
    assert "cut" not in (await exported(operator, "jobs.jsonl"))[-1]


async def test_who_exported_what_is_kept(operator: Visitor, store: Store) -> None:
    await enqueue(store)

    with capture_logs() as written:
        answer = await operator.get("/console/export/jobs.csv?queue=mail&payloads=1")

    [line] = [one for one in written if one["event"] == events.JOBS_EXPORTED]
    assert (line["list"], line["format"], line["whole"], line["user"]) == ("jobs", "csv", True, "operator")
    assert redact(None, "info", dict(line)) == line  # nothing in it is taken for content
    [entry] = [
        row.entry for row in (await search(store, Filter(action="jobs"), before=None, limit=9)).rows if row.entry
    ]
    assert (entry.user, entry.action, entry.id) == ("operator", "jobs.export", answer.headers["x-audit-id"])
    assert entry.detail == {"filter": "queue=mail", "format": "csv", "payloads": True}


async def test_viewers_export_no_payloads_and_producers_nothing(
    visit: Callable[[Role], Any], another: Callable[[], Visitor], store: Store
) -> None:
    await enqueue(store)
    viewer: Visitor = await visit(Role.VIEWER)

    assert "payloads=1" not in (await viewer.get("/console/jobs")).text
    assert len(await exported(viewer, "jobs.jsonl")) == 1
    refused = await viewer.get("/console/export/jobs.jsonl?payloads=1")
    assert (refused.status_code, "ada" in refused.text) == (403, False)
    producer: Visitor = await visit(Role.PRODUCER)
    for name in ("jobs.csv", "delayed.csv", "dead.jsonl"):
        assert (await producer.get(f"/console/export/{name}")).status_code == 403
    assert (await another().get("/console/export/jobs.csv")).status_code in (303, 401)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("jobs.csv?queue=never", 404),
        ("jobs.csv?queue=b%C3%A4d", 400),
        ("jobs.csv?state=odd", 400),
        ("jobs.csv?within=5", 400),
        (f"jobs.csv?type={'x' * 200}", 400),
        ("delayed.csv?state=dead", 400),
        ("dead.csv?state=ready", 400),
        ("jobs.xml", 404),
    ],
)
async def test_what_is_wrong_is_told_instead_of_a_broken_file(
    operator: Visitor, store: Store, path: str, status: int
) -> None:
    await enqueue(store)

    answer = await operator.get(f"/console/export/{path}")

    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_nothing_more_is_read_when_the_client_has_left(
    app: Litestar, operator: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enqueue(store, count=1000)
    cookie = "; ".join(f"{each.name}={each.value}" for each in operator.client.cookies.jar)
    reads = 0
    run = Store.run

    async def counted(self: Store, work: Plan[Any]) -> Any:
        nonlocal reads
        reads += 1
        return await run(self, work)

    monkeypatch.setattr(Store, "run", counted)
    left, sent = asyncio.Event(), 0

    async def receive() -> dict[str, Any]:
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal sent
        if message["type"] == "http.response.body" and message.get("body"):
            sent += 1
            if sent == 3:
                left.set()
                await asyncio.Event().wait()  # a client that reads no more

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/console/export/jobs.csv",
        "raw_path": b"/console/export/jobs.csv",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"cookie", cookie.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await asyncio.wait_for(app(cast(Any, scope), cast(Any, receive), cast(Any, send)), 30)

    assert sent == 3
    before = reads
    await asyncio.sleep(0)
    assert reads == before
    assert before < 9


async def test_lists_offer_their_own_filter_as_a_file(operator: Visitor, store: Store) -> None:
    await enqueue(store)

    page = (await operator.get("/console/jobs?queue=mail&state=ready&text=no+answer")).text

    assert 'href="/console/export/jobs.csv?queue=mail&amp;state=ready&amp;text=no+answer"' in page
    assert "100,000 jobs at most" in words(page)
    assert f"{exporting.MOST:,} jobs at most" in words(page)
    assert f"{exporting.MOST_WHOLE:,} jobs at most" in words(page)
    assert JobState.READY in page


async def test_a_file_ends_with_the_session_it_was_asked_for_in(
    operator: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enqueue(store, count=300)
    monkeypatch.setattr(exports, "ASK_EVERY_S", 0.0)
    ended = Sessions.ended
    asked = 0

    async def ended_meanwhile(self: Sessions, session_ids: Sequence[str]) -> frozenset[str]:
        nonlocal asked
        asked += 1
        if asked == 2:
            await self.destroy(session_ids[0])
        return await ended(self, session_ids)

    monkeypatch.setattr(Sessions, "ended", ended_meanwhile)

    lines = await exported(operator, "jobs.jsonl")

    assert lines[-1]["cut"]["jobs"] == len(lines) - 1 == 100
    assert lines[-1]["cut"]["message"].endswith("the session it was asked for in has ended")


async def test_files_under_way_are_bounded_and_give_their_places_back(
    operator: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enqueue(store, count=5)
    going_on = asyncio.Event()
    begun = 0
    stretches = engine_exporting.stretches

    async def held(*args: Any, **options: Any) -> AsyncIterator[Any]:
        nonlocal begun
        begun += 1
        await going_on.wait()
        async for jobs in stretches(*args, **options):
            yield jobs

    monkeypatch.setattr(exporting, "stretches", held)
    asking = [asyncio.create_task(operator.get("/console/export/jobs.jsonl")) for _ in range(10)]
    few = exports.MOST_OF_ONE_ACCOUNT
    refused = [await answer for answer in itertools.islice(asyncio.as_completed(asking), len(asking) - few)]

    assert {answer.status_code for answer in refused} == {503}
    assert "Too many files at once" in words(refused[0].text)
    going_on.set()
    answers = await asyncio.gather(*asking)
    assert sum(answer.status_code == 200 and len(answer.text.splitlines()) == 5 for answer in answers) == few
    assert begun == few
    for _ in range(few + 1):
        assert (await operator.client.head("/console/export/jobs.jsonl")).status_code == 200
        assert len(await exported(operator, "jobs.jsonl")) == 5
