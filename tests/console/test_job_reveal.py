"""Masked values: downloaded masked, shown to those who say why, and written down."""

import html
import json
from collections.abc import Callable
from typing import Any

import pytest

from leaseforge import operations
from leaseforge.exchanges import Outcome
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.audit.entries import Entry
from leaseforge_auth.audit.search import Filter, search
from leaseforge_auth.roles import Role
from leaseforge_console.views.job_file import as_file
from tests.api.support import claim_next, settle
from tests.console.browsing import Visitor, hidden_fields, words

SECRETS = {"password": "hunter2", "card": {"token": "tok_4242"}, "note": "plain", "amount": 12.5}


async def completed(store: Store, payload: Any = SECRETS, **fields: Any) -> str:
    job = new_job("send_email", payload, queue="mail", **fields)
    await store.run(operations.enqueue(job))
    claimed = await claim_next(store, "mail")
    await settle(store, claimed, Outcome.COMPLETE, result=b'{"api_key": "k-17", "sent": 1}')
    return job.id


async def entries(store: Store) -> list[Entry]:
    rows = (await search(store, Filter(action="job.reveal"), before=None, limit=20)).rows
    return [row.entry for row in rows if row.entry is not None]


@pytest.fixture
async def admin(visit: Callable[[Role], Any]) -> Visitor:
    visitor: Visitor = await visit(Role.ADMIN)
    return visitor


async def test_a_reason_reveals_once_and_is_found_in_the_audit(admin: Visitor, store: Store) -> None:
    job_id = await completed(store)
    page = (await admin.get(f"/console/jobs/{job_id}")).text
    assert "hunter2" not in page
    assert f'href="/console/jobs/{job_id}/reveal"' in page

    asked = await admin.get(f"/console/jobs/{job_id}/reveal")
    without = await admin.post(f"/console/jobs/{job_id}/reveal", reason=" \u200b ")
    shown = await admin.post(f"/console/jobs/{job_id}/reveal", reason="customer asks, ticket 17")

    assert "hunter2" not in asked.text + without.text
    assert (without.status_code, shown.status_code) == (422, 200)
    for secret in ("hunter2", "tok_4242", "k-17"):
        assert secret in shown.text
    assert shown.headers["cache-control"] == "no-store"
    assert "hunter2" not in (await admin.get(f"/console/jobs/{job_id}")).text
    found, refused = await entries(store)
    assert (found.reason, found.result, found.target) == ("customer asks, ticket 17", "ok", job_id)
    assert refused.result == "refused"
    assert "hunter2" not in str(found)
    link = html.unescape(shown.text.partition('href="/console/audit')[2].partition('"')[0])
    assert "customer asks, ticket 17" in (await admin.get(f"/console/audit{link}")).text


async def test_what_is_revealed_can_be_kept_as_a_file_and_is_written_down_again(admin: Visitor, store: Store) -> None:
    job_id = await completed(store)
    await admin.get(f"/console/jobs/{job_id}/reveal")
    shown = await admin.post(f"/console/jobs/{job_id}/reveal", reason="ticket 17")
    fields = hidden_fields(shown.text, f"/console/jobs/{job_id}/reveal")

    file = await admin.post(f"/console/jobs/{job_id}/reveal", fields)

    assert (file.status_code, json.loads(file.content)) == (200, SECRETS)
    assert file.headers["content-disposition"] == f'attachment; filename="job-{job_id}-payload.json"'
    assert [entry.detail["shown"] for entry in await entries(store)] == ["payload", "page"]


async def test_an_operator_may_not_reveal_but_downloads_masked(operator: Visitor, store: Store) -> None:
    job_id = await completed(store)

    page = (await operator.get(f"/console/jobs/{job_id}")).text
    payload = await operator.get(f"/console/jobs/{job_id}/payload")
    result = await operator.get(f"/console/jobs/{job_id}/result")

    assert "/reveal" not in page
    assert (await operator.get(f"/console/jobs/{job_id}/reveal")).status_code == 403
    assert (await operator.post(f"/console/jobs/{job_id}/reveal", reason="please")).status_code == 403
    assert json.loads(payload.content) == SECRETS | {"password": "[masked]", "card": {"token": "[masked]"}}
    assert json.loads(result.content) == {"api_key": "[masked]", "sent": 1}
    assert payload.headers["content-type"] == "application/json"
    assert payload.headers["x-content-type-options"] == "nosniff"
    assert payload.headers["cache-control"] == "no-store"
    assert [entry.result for entry in await entries(store)] == ["refused"]


async def test_a_large_payload_is_cut_on_the_page_and_whole_in_the_file(operator: Visitor, store: Store) -> None:
    large = {"lines": [f"line {number}" for number in range(60_000)]}
    job_id = await completed(store, large)

    page = await operator.get(f"/console/jobs/{job_id}")

    assert len(page.content) < 200_000
    assert "The download has all of it." in words(page.text)
    assert json.loads((await operator.get(f"/console/jobs/{job_id}/payload")).content) == large


async def test_a_viewer_downloads_nothing(visit: Callable[[Role], Any], store: Store) -> None:
    job_id = await completed(store)
    viewer = await visit(Role.VIEWER)

    assert (await viewer.get(f"/console/jobs/{job_id}/payload")).status_code == 403
    assert "Download" not in words((await viewer.get(f"/console/jobs/{job_id}")).text)


async def test_a_result_that_is_not_there_is_not_found(operator: Visitor, store: Store) -> None:
    job = new_job("echo", queue="mail")
    await store.run(operations.enqueue(job))

    assert (await operator.get(f"/console/jobs/{job.id}/result")).status_code == 404


@pytest.mark.parametrize(
    ("content", "content_type", "kind", "ending", "kept"),
    [
        (b'{"a":1.50}', "application/json", "application/json", "json", b'{"a":1.50}'),
        (
            b'{"a": 1e400, "pwd": [1, 2]}',
            "application/json",
            "application/json",
            "json",
            b'{"a": 1e400, "pwd": "[masked]"}',
        ),
        (b"<script>alert(1)</script>", "text/html", "text/plain; charset=utf-8", "txt", b"<script>alert(1)</script>"),
        (b"password=hunter2 x", "text/plain", "text/plain; charset=utf-8", "txt", "password=•••••• x".encode()),
        (b'{"token": "x', "application/json", "text/plain; charset=utf-8", "txt", '{"token": ••••••'.encode()),
        (b"\x89PNG\x00", "image/svg+xml", "application/octet-stream", "bin", b"\x89PNG\x00"),
        (b"", "application/json", "text/plain; charset=utf-8", "txt", b""),
    ],
)
def test_a_file_is_of_a_type_no_browser_runs(
    content: bytes, content_type: str, kind: str, ending: str, kept: bytes
) -> None:
    file = as_file(content, content_type, job_id="1", what="payload")

    assert (file.media_type, file.name, file.content) == (kind, f"job-1-payload.{ending}", kept)


def test_a_payload_too_deep_for_the_page_is_masked_in_the_file() -> None:
    deep = b"[" * 500 + b'{"password": "hunter2"}' + b"]" * 500

    assert b"hunter2" not in as_file(deep, "application/json", job_id="1", what="payload").content
    assert b"hunter2" not in as_file(b"[" * 40_000 + deep, "application/json", job_id="1", what="payload").content
