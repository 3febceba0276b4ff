"""The PDF example: a whole file under the job's id, the same one from every attempt."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from examples.pdfs import Printed, print_statement
from leaseforge import JobState
from leaseforge.testing import run_task

STATEMENT = {"account": "ada", "month": "2026-05", "lines": ["12.50 (coffee)"]}
JOB = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PDF_FOLDER", str(tmp_path / "statements"))
    return tmp_path / "statements"


def test_a_statement_is_printed_and_the_result_says_where(folder: Path) -> None:
    trial = run_task(print_statement, STATEMENT, id=JOB).raise_if_failed()

    file = folder / f"{JOB}.pdf"
    page = file.read_bytes()
    assert trial.result == Printed(str(file), len(page))
    assert trial.log == (f"{len(page):,} bytes in {file.name}",)
    assert page.startswith(b"%PDF-1.4\n")
    assert rb"(12.50 \(coffee\)) Tj" in page
    [table] = re.findall(rb"startxref\n(\d+)\n%%EOF\n\Z", page)
    assert page[int(table) :].startswith(b"xref\n")


def test_a_second_attempt_leaves_the_same_file_and_nothing_else(folder: Path) -> None:
    run_task(print_statement, STATEMENT, id=JOB)
    before = (folder / f"{JOB}.pdf").read_bytes()

    run_task(print_statement, STATEMENT, id=JOB, attempt=2, fence=2)

    assert [file.name for file in folder.iterdir()] == [f"{JOB}.pdf"]
    assert (folder / f"{JOB}.pdf").read_bytes() == before


def test_a_page_that_cannot_be_written_is_tried_again_and_leaves_no_half_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    trial = run_task(print_statement, STATEMENT, id=JOB)

    assert trial.state is JobState.RETRYING
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "change", [{"month": "May"}, {"account": "a" * 201}, {"lines": [""] * 41}, {"folder": "/etc"}, {"lines": "none"}]
)
def test_what_is_no_statement_is_refused_for_good(folder: Path, change: dict[str, Any]) -> None:
    trial = run_task(print_statement, STATEMENT | change)

    assert (trial.state, trial.reason) == (JobState.DEAD, "bad_payload")
    assert not folder.exists()
