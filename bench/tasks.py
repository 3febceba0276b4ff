"""The tasks of the benchmarks: as little as a task can do."""

import time

from leaseforge import Backoff, Context, task


@task
async def nothing(_ctx: Context, payload: dict[str, int]) -> None:
    """Does nothing."""


@task(max_attempts=3, backoff=Backoff.FIXED, backoff_base_s=0.001)
async def fails(_ctx: Context, payload: dict[str, int]) -> None:
    """Fails each time, until it is dead."""
    raise ValueError("as it should")


@task
async def timed(_ctx: Context, payload: dict[str, int]) -> int:
    """Answers the ns since its producer set out to enqueue it: both read this machine's one monotonic clock."""
    return time.monotonic_ns() - payload["sent_ns"]
