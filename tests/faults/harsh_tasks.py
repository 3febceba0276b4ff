"""Handlers that harm the process they run in. Loaded beside the other fault tasks: `crew.worker(wrap=harsh)`."""

import asyncio
import ctypes
import os
from collections.abc import Sequence

from leaseforge import Context, task
from tests.faults.tasks import GATE, note


def harsh(argv: Sequence[str]) -> list[str]:
    """The command line of a worker that has these tasks too."""
    return [*argv, __name__]


@task
async def exits(ctx: Context) -> None:
    """Ends the process without a word."""
    note(ctx, "start")
    os._exit(1)


@task
def segfaults(ctx: Context) -> None:
    """What a broken C extension does."""
    note(ctx, "start")
    ctypes.string_at(0)


@task
async def swallows_cancel(ctx: Context) -> None:
    """Takes no cancellation for an answer."""
    note(ctx, "start")
    while not GATE.exists():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            note(ctx, "cancelled")


@task
async def fails_until_gate(ctx: Context) -> int:
    """Fails as long as the test has not opened the gate."""
    note(ctx, "start")
    if not GATE.exists():
        raise RuntimeError("as asked")
    note(ctx, "end")
    return ctx.fence
