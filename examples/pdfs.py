"""Prints PDFs into a folder: `PDF_FOLDER=/srv/statements leaseforge worker pdfs --queues pdfs`.

    Client().enqueue("print_statement", {"account": "ada", "month": "2026-05", "lines": ["12.50 coffee"]}, queue="pdfs")

A result is kept for a day and holds 256 KiB at most: what is larger or has to last longer belongs into a place of its
own, and the result says where.
"""

import os
import tempfile
from pathlib import Path
from typing import Annotated

import msgspec

from leaseforge import Context, task
from leaseforge_worker.pdf import one_page

Line = Annotated[str, msgspec.Meta(max_length=200)]


class Statement(msgspec.Struct, forbid_unknown_fields=True):
    """What stands on the page; anything larger is refused before the task is called."""

    account: Line
    month: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}$")]
    lines: Annotated[list[Line], msgspec.Meta(max_length=40)] = []


class Printed(msgspec.Struct):
    """Where the file is; kept as the job's result."""

    file: str
    size: int


@task(max_attempts=3, timeout_s=60)
def print_statement(ctx: Context, statement: Statement) -> Printed:
    """Writes the page under the job's id. It depends on the payload alone, so that attempts may follow each other.

    The file appears whole or not at all: a worker that dies leaves a half of one under a name nobody looks for, and
    two workers with the job at once put the same bytes in the same place.
    """
    page = one_page(f"Statement {statement.month}", [f"Account {statement.account}", "", *statement.lines])
    folder = Path(os.environ.get("PDF_FOLDER", "statements"))
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / f"{ctx.job_id}.pdf"
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as half:
        try:
            half.write(page)
            half.flush()
            os.fsync(half.fileno())
            Path(half.name).replace(final)
        except BaseException:
            Path(half.name).unlink(missing_ok=True)
            raise
    ctx.log(f"{len(page):,} bytes in {final.name}")
    return Printed(str(final), len(page))
