"""Handlers of the long runs: they sleep, block, compute, speak and ask for more."""

import asyncio
import time

from leaseforge import Context, task


def _compute(seconds: float) -> int:
    deadline, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < deadline:
        rounds += sum(number * number for number in range(10_000)) & 1
    return rounds


@task
async def sleeps(ctx: Context, payload: float) -> None:
    """Waits on the event loop."""
    await asyncio.sleep(payload)


@task
def blocks(ctx: Context, payload: float) -> None:
    """Waits in a thread."""
    time.sleep(payload)


@task
def computes(ctx: Context, payload: float) -> int:
    """Keeps a thread busy that shares its interpreter with the worker's own loops."""
    return _compute(payload)


@task(isolate=True)
def computes_apart(ctx: Context, payload: float) -> int:
    """Keeps a process of its own busy."""
    return _compute(payload)


@task
async def echoes(ctx: Context, payload: str) -> str:
    """As little as a job can do."""
    return payload


@task
def echoes_in_thread(ctx: Context, payload: str) -> str:
    """The same in a thread."""
    return payload


@task
async def speaks(ctx: Context, payload: str) -> None:
    """Says something and asks for more, here and elsewhere."""
    ctx.progress(50, "half")
    ctx.log(payload)
    ctx.enqueue("echoes", payload)
    ctx.enqueue("echoes", payload, queue="elsewhere")


@task(max_attempts=1)
async def breaks(ctx: Context, payload: str) -> None:
    """Fails for good, with a traceback."""
    raise RuntimeError(payload)
