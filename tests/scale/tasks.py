"""Tasks of the types a filled queue holds. Each waits a little: what limits a worker is its slots, not the machine."""

import asyncio

from leaseforge import Context, task
from leaseforge.registry import Registry

WAITS_S = 0.05


async def wait(ctx: Context, payload: object) -> None:
    """Takes a while."""
    await asyncio.sleep(WAITS_S)


@task(max_attempts=1)
async def breaks(ctx: Context, payload: object) -> None:
    """Makes a dead job."""
    raise ValueError("broke again")


TYPES = ("rare", *(f"type-{number}" for number in range(40)))
registry = Registry([breaks, *(task(name=name)(wait) for name in TYPES)])
