"""A worker that never sweeps, so that nothing but wake tokens can wake it.

`python -m tests.soak.tickless URL QUEUES SLOTS FIFO`: its handlers write a byte to the FIFO when they start.
"""

import asyncio
import os
import sys
from unittest.mock import patch

from leaseforge.context import Context
from leaseforge.registry import Registry
from leaseforge.settings import read
from leaseforge.tasks import task
from leaseforge_worker.run import run_worker
from leaseforge_worker.settings import WorkerSettings
from leaseforge_worker.ticker import Ticker


async def no_ticks(ticker: Ticker) -> None:
    """Sweeps nothing, and lets the worker believe that its sweeps go on."""
    while True:
        ticker._beat()
        await asyncio.sleep(0.5)


def main(url: str, queues: str, slots: str, fifo: str) -> int:
    started = os.open(fifo, os.O_WRONLY)

    @task
    async def tell(ctx: Context, payload: float) -> None:
        os.write(started, b".")
        if payload:
            await asyncio.sleep(payload)

    settings = {
        "LEASEFORGE_REDIS_URL": url,
        "LEASEFORGE_WORKER_QUEUES": queues,
        "LEASEFORGE_WORKER_CONCURRENCY": slots,
        "LEASEFORGE_METRICS_ADDR": "off",
    }
    with patch.object(Ticker, "run", no_ticks):  # the worker builds its ticker itself
        return run_worker(read(WorkerSettings, settings), Registry([tell]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
