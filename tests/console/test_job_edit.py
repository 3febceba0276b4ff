"""Edit and retry: what is typed is checked, shown as a change, and sent once; masked values stay what they are."""

import html
import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from leaseforge import operations, reads
from leaseforge.exchanges import Outcome
from leaseforge.jobs import Job, JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.audit.search import Filter, search
from leaseforge_auth.roles import Role
from tests.api.support import claim_next, settle
from tests.console.browsing import Visitor, hidden_fields, words

PAYLOAD = b'{"to": "ada@example.org", "amount": 12.50, "user": {"password": "hunter2", "name": "Ada"}}'
AREA = re.compile(r'<textarea[^>]*name="payload"[^>]*>\n?(.*?)</textarea>', re.DOTALL)


async def dead_job(store: Store, payload: bytes = PAYLOAD, *, content_type: str = "application/json") -> str:
    job = new_job("send_email", payload, queue="mail", content_type=content_type)
    await store.run(operations.enqueue(job))
    await die(store)
    return job.id


async def die(store: Store) -> None:
    claimed = await claim_next(store, "mail")
    await settle(store, claimed, Outcome.FAIL, error_kind="ValueError", error_message="no such address", max_attempts=1)


def typed_in(page: str) -> str:
    found = AREA.search(page)
    assert found is not None
    return html.unescape(found[1])


async def edit(visitor: Visitor, job_id: str, change: Callable[[str], str]) -> httpx.Response:
    page = (await visitor.get(f"/console/jobs/{job_id}/edit")).text
    fields = hidden_fields(page, f"/console/jobs/{job_id}/edit")
    # A browser sends the ends of lines as CR LF.
    text = change(typed_in(page)).replace("\n", "\r\n")
    return await visitor.post(f"/console/jobs/{job_id}/edit", fields, payload=text)


async def send(visitor: Visitor, job_id: str, preview: str, *, reason: str = "") -> httpx.Response:
    fields = hidden_fields(preview, f"/console/jobs/{job_id}/edit/retry")
    return await visitor.post(f"/console/jobs/{job_id}/edit/retry", fields, payload=typed_in(preview), reason=reason)


async def job_of(store: Store, job_id: str) -> Job:
    return await store.run(reads.job(job_id))


async def test_an_edited_payload_is_shown_as_a_change_and_sent_once(operator: Visitor, store: Store) -> None:
    job_id = await dead_job(store)

    preview = await edit(operator, job_id, lambda text: text.replace("ada@", "eve@"))
    assert preview.status_code == 200
    assert "1 line removed, 1 line added" in words(preview.text)
    assert "hunter2" not in preview.text
    assert (await job_of(store, job_id)).state is JobState.DEAD
    first = await send(operator, job_id, preview.text, reason="wrong address")
    again = await send(operator, job_id, preview.text, reason="wrong address")

    assert (first.status_code, first.headers["location"]) == (303, f"/console/jobs/{job_id}")
    assert again.status_code == 303
    assert "The job was put back already." in words((await operator.get(f"/console/jobs/{job_id}")).text)
    job = await job_of(store, job_id)
    assert (job.state, job.replays) == (JobState.READY, 1)
    assert json.loads(job.payload or b"")["to"] == "eve@example.org"
    assert json.loads(job.payload or b"")["user"] == {"password": "hunter2", "name": "Ada"}
    assert b"12.50" in (job.payload or b"")
    [entry] = [row.entry for row in (await search(store, Filter(action="job.retry"), before=None, limit=9)).rows[-1:]]
    assert entry is not None
    assert entry.reason == "wrong address"
    assert entry.detail["payload_changed"] is True
    assert "eve@" not in str(entry.detail)


async def test_nothing_changed_is_a_plain_retry_and_leaves_every_byte(operator: Visitor, store: Store) -> None:
    job_id = await dead_job(store)

    preview = await edit(operator, job_id, lambda text: text)
    await send(operator, job_id, preview.text)

    assert "this is a plain retry" in words(preview.text)
    assert (await job_of(store, job_id)).payload == PAYLOAD


async def test_a_masked_value_typed_over_is_replaced_and_not_shown(operator: Visitor, store: Store) -> None:
    job_id = await dead_job(store)

    preview = await edit(operator, job_id, lambda text: text.replace("•••••• 1", "correct horse"))
    assert "correct horse" not in AREA.sub("", preview.text)
    assert "•••••• new" in preview.text
    await send(operator, job_id, preview.text)

    assert json.loads((await job_of(store, job_id)).payload or b"")["user"]["password"] == "correct horse"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace('"to":', '"to"'), "Expected ':': line 2, column 8."),
        (lambda text: text[:-2], "The JSON ends too early"),
        (
            lambda text: text.replace("Ada", r"Ada \ud83d"),
            r"\ud83d is half of a character, and its other half is missing",
        ),
        (lambda _: "", "Nothing was typed: line 1, column 1."),
        (lambda _: "[" * 80 + "]" * 80, "Nested deeper than 64 levels"),
        (
            lambda text: text.replace('"name": "Ada"', '"note": "•••••• 1"'),
            "cannot move to where it would not be masked",
        ),
        (lambda text: text.replace("•••••• 1", "•••••• 7"), "stands for no masked value"),
        (lambda _: '"' + "x" * 300_000 + '"', "At most 256.0 KiB"),
        (lambda _: "<script>alert(1)</script>", "Invalid character: line 1, column 1."),
    ],
)
async def test_what_is_wrong_is_said_with_its_place_and_nothing_is_lost(
    operator: Visitor, store: Store, change: Callable[[str], str], told: str
) -> None:
    job_id = await dead_job(store)

    answer = await edit(operator, job_id, change)

    assert answer.status_code == 422
    assert told in words(answer.text)
    shown = (await operator.get(f"/console/jobs/{job_id}/edit")).text
    assert typed_in(answer.text) == change(typed_in(shown))
    assert "<script>alert" not in answer.text
    forced = await operator.post(
        f"/console/jobs/{job_id}/edit/retry", operation="rev-3", payload=change(typed_in(shown))
    )
    assert forced.status_code in (409, 422)
    assert (await job_of(store, job_id)).state is JobState.DEAD


@pytest.mark.parametrize(
    ("payload", "content_type", "told"),
    [
        (b"\x00\xff", "application/octet-stream", "application/octet-stream, not JSON"),
        (b"\xff\xfe", "application/json", "binary, though it was called JSON"),
        (b'"' + b"x" * 600_000 + b'"', "application/json", "at most 256.0 KiB can be edited"),
        (b"{{ 7 * 7 }}", "text/<script>", "text/<script>, not JSON"),
    ],
)
async def test_what_cannot_be_edited_is_said_plainly(
    operator: Visitor, store: Store, payload: bytes, content_type: str, told: str
) -> None:
    job_id = await dead_job(store, payload, content_type=content_type)

    page = (await operator.get(f"/console/jobs/{job_id}/edit")).text
    answer = await operator.post(f"/console/jobs/{job_id}/edit/retry", operation="rev-3", payload="{}")

    assert told in words(page)
    assert "<textarea" not in page
    assert answer.status_code == 409
    assert (await job_of(store, job_id)).payload == payload


async def test_a_payload_that_is_no_json_can_be_mended(operator: Visitor, store: Store) -> None:
    job_id = await dead_job(store, b'{"to": "ada",}')

    page = (await operator.get(f"/console/jobs/{job_id}/edit")).text
    assert "Trailing comma in object: line 1, column 14." in words(page)
    preview = await edit(operator, job_id, lambda text: text.replace(",}", "}"))
    await send(operator, job_id, preview.text)

    assert (await job_of(store, job_id)).payload == b'{"to":"ada"}'


async def test_the_way_back_keeps_what_was_typed(operator: Visitor, store: Store) -> None:
    job_id = await dead_job(store)
    preview = (await edit(operator, job_id, lambda text: text.replace("ada", "eve"))).text
    form = re.search(r'<form id="back".*?</form>', preview, re.DOTALL)
    assert form is not None

    page = await operator.post(
        f"/console/jobs/{job_id}/edit", operation="rev-3", does="back", payload=typed_in(form[0])
    )

    assert page.status_code == 200
    assert "eve@example.org" in typed_in(page.text)


async def test_a_job_that_was_retried_meanwhile_is_left_as_it_is(operator: Visitor, store: Store) -> None:
    job_id = await dead_job(store)
    preview = (await edit(operator, job_id, lambda text: text.replace("ada", "eve"))).text

    await store.run(operations.retry(job_id, operation="somebody else"))
    ready = await send(operator, job_id, preview)
    editing = await operator.get(f"/console/jobs/{job_id}/edit")
    await die(store)
    dead_again = await send(operator, job_id, preview)
    late = await operator.post(f"/console/jobs/{job_id}/edit", operation="rev-3", payload="{}")

    assert (ready.status_code, dead_again.status_code, late.status_code) == (409, 409, 422)
    assert "nothing was put back" in words(ready.text)
    assert "only the payload of a dead job can be changed" in words(editing.text)
    assert "after it was put back since you began to edit" in words(dead_again.text)
    job = await job_of(store, job_id)
    assert (job.state, job.payload) == (JobState.DEAD, PAYLOAD)


async def test_who_may_only_look_cannot_edit(visit: Callable[[Role], Any], store: Store) -> None:
    job_id = await dead_job(store)
    viewer = await visit(Role.VIEWER)

    assert "Edit and retry" not in (await viewer.get(f"/console/jobs/{job_id}")).text
    assert (await viewer.get(f"/console/jobs/{job_id}/edit")).status_code == 403
    for path in ("edit", "edit/retry"):
        assert (await viewer.post(f"/console/jobs/{job_id}/{path}", operation="rev-3", payload="{}")).status_code == 403
    assert (await job_of(store, job_id)).payload == PAYLOAD
