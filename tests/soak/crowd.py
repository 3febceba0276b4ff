"""Many idle workers in one process, each with an entry of its own: `python -m tests.soak.crowd URL COUNT`."""

import asyncio
import signal
import sys
import time

from leaseforge.context import Context
from leaseforge.registry import Registry
from leaseforge.tasks import task
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.worker import Worker


@task
async def stamp(ctx: Context) -> float:
    """The moment it started, by the clock all processes of a machine share."""
    return time.monotonic()


async def crowd(url: str, count: int) -> None:
    """Runs workers until SIGTERM."""
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    settings = WorkerSettings(redis_url=url, metrics_address=None, concurrency=4)
    running = [asyncio.create_task(Worker(settings, Registry([stamp])).run()) for _ in range(count)]
    print("crowd started", flush=True)
    await asked.wait()
    for one in running:
        one.cancel()
    await asyncio.wait(running)


if __name__ == "__main__":
    asyncio.run(crowd(sys.argv[1], int(sys.argv[2])))
