"""Handlers for the fault tests: each notes in a ledger outside Redis what it does.

Their effects go through a store that remembers the highest fence it saw of a job and refuses a lower one, as the
documentation asks of whoever needs an effect never to be overwritten by a late worker.
"""

import asyncio
import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from leaseforge import BadInput, Context, task

LEDGER = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND) if "LEDGER" in os.environ else -1
FENCES = Path(os.environ.get("LEDGER", "/nonexistent")).with_suffix(".fences")
GATE = Path(os.environ.get("GATE", "/nonexistent"))


def note(ctx: Context, what: str) -> None:
    """One line, written by one atomic append."""
    line = {
        "job": ctx.job_id,
        "queue": ctx.job.queue,
        "fence": ctx.fence,
        "attempt": ctx.attempt,
        "pid": os.getpid(),
        "what": what,
    }
    os.write(LEDGER, json.dumps(line).encode() + b"\n")


def effect(ctx: Context) -> None:
    """What must not happen late: noted unless a higher fence of the job has been here before."""
    descriptor = os.open(FENCES / ctx.job_id, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if ctx.fence < int(os.read(descriptor, 32) or 0):
            note(ctx, "refused")
            return
        os.pwrite(descriptor, b"%d" % ctx.fence, 0)
        note(ctx, "effect")
    finally:
        os.close(descriptor)


@task
async def work(ctx: Context, payload: dict[str, int]) -> int:
    """Waits like a handler that talks to other systems."""
    note(ctx, "start")
    try:
        await asyncio.sleep(payload["ms"] / 1000)
    except asyncio.CancelledError:
        note(ctx, "cancelled")
        raise
    effect(ctx)
    note(ctx, "end")
    return ctx.fence


@task
def work_in_thread(ctx: Context, payload: dict[str, int]) -> int:
    """The same, blocking a thread."""
    note(ctx, "start")
    time.sleep(payload["ms"] / 1000)
    effect(ctx)
    note(ctx, "end")
    return ctx.fence


@task
async def block_loop(ctx: Context, payload: dict[str, int]) -> int:
    """What a coroutine should never do: it blocks the whole event loop."""
    note(ctx, "start")
    time.sleep(payload["ms"] / 1000)
    effect(ctx)
    note(ctx, "end")
    return ctx.fence


@task
async def wait_for_gate(ctx: Context, payload: Any) -> int:
    """Runs until the test opens the gate."""
    note(ctx, "start")
    try:
        while not GATE.exists():
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        note(ctx, "cancelled")
        raise
    effect(ctx)
    note(ctx, "end")
    return ctx.fence


@task
def thread_until_gate(ctx: Context, payload: Any) -> int:
    """The same in a thread that does not listen."""
    note(ctx, "start")
    while not GATE.exists():
        time.sleep(0.01)
    effect(ctx)
    note(ctx, "end")
    return ctx.fence


@task
async def ignores_cancel(ctx: Context, payload: Any) -> None:
    """Cannot be stopped."""
    note(ctx, "start")
    while not GATE.exists():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue


@task
async def breaks(ctx: Context, payload: Any) -> None:
    """Fails."""
    note(ctx, "start")
    raise RuntimeError("as asked")


@task
async def needs_number(ctx: Context, payload: int) -> int:
    """Takes one shape of payload only."""
    note(ctx, "start")
    effect(ctx)
    note(ctx, "end")
    return payload + 1


@task
def fans_out(ctx: Context, payload: dict[str, str]) -> list[str]:
    """Says what it does, asks for work in two queues, and has one request refused at once."""
    note(ctx, "start")
    ctx.log("splitting")
    ctx.progress(40, "splitting")
    asked = [
        ctx.enqueue("work", {"ms": 1}),
        ctx.enqueue("work", {"ms": 1}, queue=payload["other"]),
        ctx.enqueue("work", {"ms": 2}, queue=payload["other"], idempotency_key=payload["taken_key"]),
    ]
    try:
        ctx.enqueue("work", queue="no such queue")
    except BadInput as refused:
        ctx.log(f"refused: {refused}")
    ctx.progress(100)
    ctx.log("done")
    note(ctx, "end")
    return asked


@task(max_attempts=1)
async def asks_and_fails(ctx: Context, payload: dict[str, str]) -> None:
    """Its requests must come to nothing."""
    ctx.log("about to fail")
    ctx.enqueue("work", {"ms": 1})
    ctx.enqueue("work", {"ms": 1}, queue=payload["other"])
    raise RuntimeError("as asked")


@task
async def speaks_until_cancelled(ctx: Context) -> None:
    """Says something new all the time."""
    try:
        while True:
            ctx.progress(50, "waiting")
            await asyncio.sleep(0.01)
    finally:
        ctx.log("stopped")
