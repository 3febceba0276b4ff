"""What producers and workers write does nothing on the pages of one job, and does not break them."""

import html
import json
import re
from typing import Any

from leaseforge import attempts, operations
from leaseforge.exchanges import Outcome
from leaseforge.jobs import JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_console.views.changes import MAX_ROWS
from leaseforge_console.views.job import build
from tests.api.support import claim_next, settle
from tests.console.browsing import Visitor, hidden_fields, words
from tests.console.sample import NOW, attempt, job
from tests.console.test_job_edit import edit, typed_in

TEXTS = [
    "<script>alert(1)</script>",
    "</textarea><script>alert(2)</script>",
    "</pre><img src=x onerror=alert(3)>",
    '" autofocus onfocus="alert(4)',
    "{{ 7 * 7 }}{% include 'pages/login.html' %}",
    "<hx-partial hx-target='body'>gone</hx-partial>",
    "\u202egnp.exe\u2066\u200b",
    "😀\u0301" * 40,
    "\n\ttwo\r\nlines",
    "a" * 3000,
]
PAYLOAD = {text: [text, {"inner": text}] for text in TEXTS}
HARM = re.compile(r"<script>alert|<img src=x|onfocus=\"alert|<hx-partial hx-target='body'|[\u202e\u2066\u200b]|>49<")


async def dead(store: Store, payload: Any, **failure: str) -> str:
    added = new_job(TEXTS[0], payload, queue="mail", tags=[text[:60].strip() for text in TEXTS[:4]])
    await store.run(operations.enqueue(added))
    claimed = await claim_next(store, "mail")
    told = {"error_kind": "ValueError", "error_message": "x"} | failure
    await settle(store, claimed, Outcome.FAIL, max_attempts=1, **told)
    return added.id


async def test_the_pages_of_a_job_obey_nothing(operator: Visitor, store: Store) -> None:
    shout = "".join(TEXTS)
    job_id = await dead(store, PAYLOAD, error_kind=TEXTS[0], error_message=shout, traceback=shout)

    pages = [
        await operator.get(f"/console/jobs/{job_id}"),
        await operator.get(f"/console/jobs/{job_id}/delete"),
        await operator.get(f"/console/jobs/{job_id}/edit"),
        await edit(operator, job_id, lambda text: text.replace("inner", "<b>{{ 7 * 7 }}</b>")),
        await edit(operator, job_id, lambda text: text + TEXTS[1]),
        await operator.get(f"/console/jobs/new?like={job_id}"),
    ]

    for page in pages:
        assert page.status_code in (200, 422)
        assert HARM.search(page.text) is None
        # Nothing of it closes the page's own elements.
        assert page.text.count("<main") == page.text.count("</main>") == 1
        assert page.text.rstrip().endswith("</html>")
    assert json.loads(typed_in(pages[2].text)) == PAYLOAD


async def test_what_was_typed_obeys_nothing_either(operator: Visitor, store: Store) -> None:
    sent = hidden_fields((await operator.get("/console/jobs/new")).text, "/console/jobs/new")

    for text in TEXTS[:-1]:
        answer = await operator.post(
            "/console/jobs/new", sent | {"queue": text, "type": text, "payload": text, "tags": text}
        )

        assert answer.status_code == 422
        assert HARM.search(answer.text.replace(html.escape(text), "")) is None
        assert "</textarea><script" not in answer.text


async def test_a_payload_of_a_megabyte_keeps_every_page_small(operator: Visitor, store: Store) -> None:
    job_id = await dead(store, {"rows": ["x" * 100] * 9_900, "password": "hunter2"})

    for path in ("", "/edit", "/delete"):
        page = await operator.get(f"/console/jobs/{job_id}{path}")
        assert page.status_code == 200
        assert len(page.content) < 200_000
        assert "hunter2" not in page.text
    assert len((await operator.get(f"/console/jobs/new?like={job_id}")).content) < 100_000
    huge = await operator.post("/console/jobs/new", queue="mail", type="echo", payload='"' + "x" * 1_000_000 + '"')
    assert huge.status_code == 422
    over = await operator.post("/console/jobs/new", queue="mail", type="echo", payload="x" * 2_000_000)
    assert over.status_code == 413


async def test_a_change_of_very_many_lines_is_shown_in_part(operator: Visitor, store: Store) -> None:
    job_id = await dead(store, list(range(20_000)))

    page = await edit(operator, job_id, lambda text: text.replace("1", "7"))

    assert page.status_code == 200
    assert page.text.count('<span class="old">') + page.text.count('<span class="new">') <= MAX_ROWS
    assert "more lines not shown here." in words(page.text)


async def test_a_traceback_of_ten_thousand_lines_is_kept_within_bounds(operator: Visitor, store: Store) -> None:
    lines = "\n".join(f'  File "/app/tasks.py", line {number}, in <module>' for number in range(10_000))
    job_id = await dead(store, {}, error_message="m" * 100_000, traceback=lines)

    page = await operator.get(f"/console/jobs/{job_id}")

    assert len(page.content) < 100_000
    assert "in &lt;module&gt;" in page.text


async def test_two_hundred_long_log_lines_fit(operator: Visitor, store: Store) -> None:
    added = new_job("echo", {}, queue="mail")
    await store.run(operations.enqueue(added))
    claimed = await claim_next(store, "mail")
    texts = [f"{number} {TEXTS[0]} {'x' * 900}" for number in range(200)]
    for start in range(0, 200, 50):
        await store.run(
            attempts.log(claimed.queue, claimed.id, claimed.token, first=start + 1, lines=texts[start : start + 50])
        )

    page = await operator.get(f"/console/jobs/{added.id}")

    assert "200 lines: the last 200 are kept" in words(page.text)
    assert HARM.search(page.text) is None


def test_an_attempt_from_a_damaged_record_is_shown_as_it_is() -> None:
    odd = job(JobState.DEAD, attempts=1, history=(attempt(1, "never heard of", began_s=5, ended_s=9),), finished_at=NOW)

    page = build(odd, NOW, may_read_payload=True)

    assert page.attempts[0].outcome == "never heard of"
    assert page.attempts[0].ran == "0 ms"
