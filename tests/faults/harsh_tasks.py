"""Handlers that harm the process they run in. Loaded beside the other fault tasks: `crew.worker(wrap=harsh)`."""

import asyncio
import ctypes
import os
import re
import subprocess
import sys
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


@task(isolate=True)
def isolated(ctx: Context, payload: str) -> int:
    """Does one kind of harm in a process of its own."""
    note(ctx, "start")
    match payload:
        case "exit":
            os._exit(1)
        case "segfault":
            ctypes.string_at(0)
        case "interpreter":  # kept by C code for longer than any test lasts
            re.fullmatch(r"(a|a)*b", "a" * 64)
        case "grandchildren":
            for _ in range(3):
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
                os.write(2, f"grandchild {child.pid}\n".encode())
            os._exit(1)
    note(ctx, "end")
    return ctx.fence


@task(isolate=True, memory_mb=256)
def isolated_glutton(ctx: Context) -> None:
    """Takes more memory than it may."""
    note(ctx, "start")
    hoard = []
    while True:
        hoard.append(bytearray(16 * 1024 * 1024))


@task(isolate=True)
async def isolated_swallows_cancel(ctx: Context) -> None:
    """Takes no cancellation for an answer."""
    note(ctx, "start")
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            note(ctx, "cancelled")
