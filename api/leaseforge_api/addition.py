"""Adds up the statistics of all queues, for as long as the server runs; one server process at a time does it."""

import asyncio
import secrets
import time
from contextlib import suppress

import structlog

from leaseforge import events, statistics
from leaseforge.errors import LeaseforgeError
from leaseforge.pulse import Pulse
from leaseforge.store import Store

EVERY_S = 5.0
_AT_FIRST_S = 7200

log = structlog.get_logger()


async def keep_adding_up(store: Store, stop: asyncio.Event, pulse: Pulse, *, every_s: float = EVERY_S) -> None:
    """Adds up every few seconds until `stop`; what a gap left out is added up when it is over."""
    holder = secrets.token_hex(8)
    done_at: float | None = None
    while not stop.is_set():
        pulse.beat("statistics")
        started = time.monotonic()
        missed_s = _AT_FIRST_S if done_at is None else int(started - done_at) + 1
        try:
            if await store.run(statistics.add_up(holder=holder, missed_s=missed_s)):
                done_at = started
        except LeaseforgeError as error:
            log.warning(events.STATISTICS_LATE, error=str(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), every_s)
