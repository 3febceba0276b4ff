"""Handlers for the fault tests: each notes in a file outside Redis what it does."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

from leaseforge import BadInput, Context, task

LEDGER = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND) if "LEDGER" in os.environ else -1
GATE = Path(os.environ.get("GATE", "/nonexistent"))


def note(ctx: Context, what: str) -> None:
    """One line, written by one atomic append."""
    line = {"job": ctx.job_id, "fence": ctx.fence, "attempt": ctx.attempt, "pid": os.getpid(), "what": what}
    os.write(LEDGER, json.dumps(line).encode() + b"\n")


@task
async def work(ctx: Context, payload: dict[str, int]) -> int:
    """Waits like a handler that talks to other systems."""
    note(ctx, "start")
    try:
        await asyncio.sleep(payload["ms"] / 1000)
    except asyncio.CancelledError:
        note(ctx, "cancelled")
        raise
    note(ctx, "end")
    return ctx.fence


@task
def work_in_thread(ctx: Context, payload: dict[str, int]) -> int:
    """The same, blocking a thread."""
    note(ctx, "start")
    time.sleep(payload["ms"] / 1000)
    note(ctx, "end")
    return ctx.fence


@task
async def block_loop(ctx: Context, payload: dict[str, int]) -> int:
    """What a coroutine should never do: it blocks the whole event loop."""
    note(ctx, "start")
    time.sleep(payload["ms"] / 1000)
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
    note(ctx, "end")
    return ctx.fence


@task
def thread_until_gate(ctx: Context, payload: Any) -> int:
    """The same in a thread that does not listen."""
    note(ctx, "start")
    while not GATE.exists():
        time.sleep(0.01)
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
    return payload + 1


@task
def fans_out(ctx: Context, payload: dict[str, str]) -> list[str]:
    """Says what it does, asks for work in two queues, and has one request refused at once."""
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
