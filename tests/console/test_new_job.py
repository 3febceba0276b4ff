"""A job submitted by hand: checked with all problems at once, made once, and told what will become of it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from leaseforge import operations, reads
from leaseforge.jobs import Job, JobState
from leaseforge.requests import new_job
from leaseforge.store import Store
from leaseforge_auth.roles import Role
from tests.api.support import report_worker
from tests.console.browsing import Visitor, hidden_fields, words
from tests.console.test_job_edit import typed_in

PATH = "/console/jobs/new"


async def fill(visitor: Visitor, **fields: str) -> tuple[dict[str, str], httpx.Response]:
    """Opens the form and sends it; the fields it sent go along."""
    sent = hidden_fields((await visitor.get(PATH)).text, PATH)
    sent |= {"queue": "mail", "type": "echo", "payload": "{}"} | fields
    return sent, await visitor.post(PATH, sent)


async def job_behind(store: Store, answer: httpx.Response) -> Job:
    assert answer.status_code == 303, words(answer.text)
    return await store.run(reads.job(answer.headers["location"].rpartition("/")[2]))


async def test_a_whole_form_makes_the_job_it_says(operator: Visitor, store: Store) -> None:
    _, answer = await fill(
        operator,
        payload='{"amount": 12.50,\r\n "note": "é😀"}',
        delay="90.5",
        priority="-7",
        max_attempts="0",
        timeout="30",
        unique_key="order 17",
        tags="vip, eu,, vip",
    )

    job = await job_behind(store, answer)
    assert (job.queue, job.type, job.state, job.priority) == ("mail", "echo", JobState.SCHEDULED, -7)
    assert job.payload == '{"amount": 12.50,\n "note": "é😀"}'.encode()
    assert (job.options.max_attempts, job.options.timeout_ms) == (0, 30_000)
    assert (job.unique_key, job.tags, job.created_by) == ("order 17", ("vip", "eu"), "operator")
    assert "the first of the new queue mail" in words((await operator.get(answer.headers["location"])).text)


async def test_a_time_is_taken_as_utc(operator: Visitor, store: Store) -> None:
    _, answer = await fill(operator, at="2030-05-01T08:15")

    assert (await job_behind(store, answer)).due_at == datetime(2030, 5, 1, 8, 15, tzinfo=UTC)


async def test_a_form_sent_twice_makes_one_job(operator: Visitor, store: Store) -> None:
    sent, first = await fill(operator)
    again = await operator.post(PATH, sent)

    assert again.headers["location"] == first.headers["location"]
    assert "Not submitted again" in words((await operator.get(first.headers["location"])).text)
    assert (await store.run(reads.queue("mail"))).counts[JobState.READY] == 1


async def test_a_form_changed_after_it_was_sent_is_asked_about(operator: Visitor, store: Store) -> None:
    sent, first = await fill(operator)

    changed = await operator.post(PATH, sent | {"payload": '{"b": 2}'})
    made = await operator.post(PATH, sent | {"payload": '{"b": 2}'} | hidden_fields(changed.text, PATH))

    assert changed.status_code == 409
    assert first.headers["location"].rpartition("/")[2] in words(changed.text)
    assert typed_in(changed.text) == '{"b": 2}'
    assert made.headers["location"] != first.headers["location"]


async def test_all_that_is_wrong_is_said_at_once_and_what_was_typed_stays(operator: Visitor, store: Store) -> None:
    _, answer = await fill(
        operator,
        queue="no such name!",
        type="",
        payload='{"a": 1,\r\n "b" 2}',
        priority="high",
        delay="soon",
        at="tomorrow",
        max_attempts="99999999",
        timeout="-1",
        tags=",".join(f"t{number}" for number in range(20)),
        unique_key="k" * 300,
    )

    page = words(answer.text)
    assert answer.status_code == 422
    for told in (
        "Expected ':': line 2, column 6.",
        "Must be a whole number.",
        "Must be a number of seconds, as in 90 or 1.5.",
        "Must be a date and time, as in 2026-11-30T08:15.",
        "Must be a whole number from 0 to 10,000.",
        "Must be at most 16.",
        "Must be at most 256 bytes.",
        "Must be text and not empty.",
    ):
        assert told in page
    assert 'value="high"' in answer.text
    assert typed_in(answer.text) == '{"a": 1,\n "b" 2}'
    assert await store.run(reads.queue_names()) == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"delay": "5", "at": "2030-05-01T08:15"}, "Excludes a delay"),
        ({"payload": ""}, "Nothing was typed"),
        ({"payload": '{"password": "••••••"}'}, "stands for no masked value"),
        ({"payload": '"' + "x" * 300_000 + '"'}, "At most 256.0 KiB"),
        ({"queue": "sys"}, "'sys' is reserved."),
        ({"type": "<script>\u0007"}, "Must not hold U+0007: names are of characters that can be seen."),
        ({"at": "9999-12-31T23:59:59"}, "Must be within 10 years."),
    ],
)
async def test_single_mistakes_are_said_beside_their_field(
    operator: Visitor, store: Store, fields: dict[str, str], told: str
) -> None:
    _, answer = await fill(operator, **fields)

    assert answer.status_code == 422
    assert told in words(answer.text)
    assert "<script>\u0007" not in answer.text
    assert await store.run(reads.queue_names()) == []


async def test_known_queues_and_types_are_offered(operator: Visitor, store: Store) -> None:
    await store.run(operations.enqueue(new_job("echo", queue="mail")))
    await report_worker(store, "w1")

    page = (await operator.get(f"{PATH}?queue=mail&type=echo")).text

    assert '<option value="mail">' in page
    assert '<option value="echo">' in page
    assert 'value="mail"' in page.partition("<datalist")[0]


async def test_the_last_payload_of_the_type_is_an_example_without_its_secrets(operator: Visitor, store: Store) -> None:
    for number in (1, 2):
        job = new_job("send_email", {"to": f"ada{number}", "token": "tok_secret", "<b>": "{{ 7 * 7 }}"}, queue="mail")
        await store.run(operations.enqueue(job))

    _, page = await fill(operator, type="send_email", does="example", tags="kept")
    _, unknown = await fill(operator, type="nothing_like_it", does="example", payload='{"mine": 1}')

    assert json.loads(typed_in(page.text)) == {"to": "ada1", "token": "••••••", "<b>": "{{ 7 * 7 }}"}
    assert "tok_secret" not in page.text
    assert 'value="kept"' in page.text
    assert typed_in(unknown.text) == '{"mine": 1}'
    assert "no job of this type" in words(unknown.text)


async def test_a_form_is_filled_in_like_a_job(operator: Visitor, store: Store) -> None:
    job = new_job("send_email", {"to": "ada"}, queue="mail", priority=5, timeout_ms=1500, tags=("a", "b"))
    await store.run(operations.enqueue(job))

    page = (await operator.get(f"{PATH}?like={job.id}")).text

    assert json.loads(typed_in(page)) == {"to": "ada"}
    assert all(f'value="{value}"' in page for value in ("mail", "send_email", "5", "1.5", "a, b"))
    assert (await operator.get(f"{PATH}?like=00000000-0000-4000-8000-000000000000")).status_code == 404


async def test_roles_see_no_more_than_they_may(visit: Callable[[Role], Any], store: Store) -> None:
    job = new_job("send_email", {"to": "ada"}, queue="hidden-queue")
    await store.run(operations.enqueue(job))
    producer = await visit(Role.PRODUCER)

    page = (await producer.get(f"{PATH}?like={job.id}")).text
    sent = hidden_fields(page, PATH) | {"queue": "mail", "type": "send_email", "payload": "{}"}
    example = await producer.post(PATH, sent | {"does": "example"})
    made = await producer.post(PATH, sent)

    assert "hidden-queue" not in page
    assert "ada" not in page
    assert typed_in(example.text) == "{}"
    assert (made.status_code, made.headers["location"]) == (303, PATH)
    assert "Submitted as job" in words((await producer.get(PATH)).text)


async def test_a_viewer_finds_no_form(visit: Callable[[Role], Any], store: Store) -> None:
    viewer = await visit(Role.VIEWER)

    assert (await viewer.get(PATH)).status_code == 403
    assert (await viewer.post(PATH, queue="mail", type="echo", payload="{}")).status_code == 403
    assert "New job" not in words((await viewer.get("/console/jobs")).text)


async def test_a_worker_that_does_not_know_the_type_is_told_about(operator: Visitor, store: Store) -> None:
    await report_worker(store, "w1")
    for queue in ("default", "mail"):
        await store.run(operations.enqueue(new_job("echo", queue=queue)))

    _, unknown = await fill(operator, queue="default", type="unheard_of")
    told = words((await operator.get(unknown.headers["location"])).text)
    _, unserved = await fill(operator, queue="mail")

    assert "No worker of default knows the type unheard_of now." in told
    assert "No worker serves the queue mail now." in words((await operator.get(unserved.headers["location"])).text)
