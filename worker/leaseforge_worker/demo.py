"""Tasks to try the system with; `leaseforge worker --demo` runs them."""

import asyncio
from typing import Annotated, Any

import msgspec

from leaseforge.context import Context
from leaseforge.registry import Registry
from leaseforge.tasks import task
from leaseforge_worker.pdf import one_page

MAX_SLEEP_MS = 3_600_000


class Nap(msgspec.Struct, forbid_unknown_fields=True):
    """How long to sleep, in ms, an hour at most."""

    duration_ms: Annotated[int, msgspec.Meta(ge=0, le=MAX_SLEEP_MS)] = 1000


class Page(msgspec.Struct):
    """What to print on the page."""

    title: Annotated[str, msgspec.Meta(max_length=200)] = "Leaseforge"
    lines: Annotated[list[Annotated[str, msgspec.Meta(max_length=200)]], msgspec.Meta(max_length=60)] = []


class Complaint(msgspec.Struct):
    """What the failure is to say."""

    message: Annotated[str, msgspec.Meta(max_length=200)] = "this task always fails"


class DemoFailure(Exception):
    """What the task `fail` raises."""


@task
async def echo(_ctx: Context, payload: Any) -> Any:
    """Answers its payload."""
    return payload


@task
async def sleep(_ctx: Context, payload: Nap) -> None:
    """Takes the time asked for."""
    await asyncio.sleep(payload.duration_ms / 1000)


@task
async def fail(_ctx: Context, payload: Complaint | None) -> None:
    """Fails every time."""
    raise DemoFailure((payload or Complaint()).message)


@task
def generate_pdf(ctx: Context, payload: Page | None) -> bytes:
    """Prints a title and lines on an A4 page and answers the PDF."""
    page = payload or Page()
    return one_page(page.title, [*page.lines, f"Job {ctx.job_id}, attempt {ctx.attempt}"])


TASKS = Registry([echo, sleep, fail, generate_pdf])
