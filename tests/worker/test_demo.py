"""The demo tasks."""

import re
from typing import Any

import pytest

from leaseforge.context import Context
from leaseforge.tasks import BadPayload
from leaseforge_worker.demo import TASKS, DemoFailure
from leaseforge_worker.pdf import one_page
from tests.worker.builders import Clock, claimed, held


async def run(name: str, payload: bytes) -> Any:
    task = TASKS.get(name)
    assert task is not None
    job = held(Clock(), claimed(name, payload=payload))
    result = task(Context(job.claimed, job), task.decode(payload))
    return await result if task.is_async else result


def test_the_demo_tasks_are_those_of_the_docs() -> None:
    assert TASKS.names() == ("echo", "fail", "generate_pdf", "sleep")


async def test_echo_answers_its_payload() -> None:
    assert await run("echo", b'{"a": [1, null]}') == {"a": [1, None]}


async def test_sleep_takes_the_time_asked_for() -> None:
    assert await run("sleep", b'{"duration_ms": 1}') is None


@pytest.mark.parametrize("payload", [b'{"duration_ms": -1}', b'{"duration_ms": 3600001}', b'{"duration": 5}', b"5"])
def test_sleep_refuses_what_is_no_duration(payload: bytes) -> None:
    task = TASKS.get("sleep")
    assert task is not None
    with pytest.raises(BadPayload):
        task.decode(payload)


async def test_fail_fails_with_the_message_asked_for() -> None:
    with pytest.raises(DemoFailure, match="oh no"):
        await run("fail", b'{"message": "oh no"}')
    with pytest.raises(DemoFailure, match="always fails"):
        await run("fail", b"null")


async def test_generate_pdf_makes_a_pdf_with_what_was_asked_for() -> None:
    document = await run("generate_pdf", b'{"title": "Invoice (7)", "lines": ["one", "two"]}')

    assert document.startswith(b"%PDF-1.4")
    assert b"(Invoice \\(7\\)) Tj" in document
    assert b"(two) Tj" in document
    assert b"attempt 1" in document


@pytest.mark.parametrize(
    ("title", "lines"),
    [("plain", ["x"]), ("", []), ("\\) evil (\n", ["ünïcödé 你好", "x" * 5000, "a\x00b"] * 40)],
)
def test_every_cross_reference_of_the_pdf_points_to_its_object(title: str, lines: list[str]) -> None:
    document = one_page(title, lines)

    table = int(re.findall(rb"startxref\n(\d+)\n%%EOF\n$", document)[0])
    assert document[table:].startswith(b"xref\n0 8\n")
    for number, offset in enumerate(re.findall(rb"(\d{10}) 00000 n ", document), 1):
        assert document[int(offset) :].startswith(b"%d 0 obj\n" % number)
    length = int(re.findall(rb"/Length (\d+)", document)[0])
    content = document.partition(b"stream\n")[2][:length]
    assert document.partition(b"stream\n")[2][length:].startswith(b"\nendstream")
    assert content.endswith(b"ET")
