"""A server's page for Prometheus: the installation's figures, which all servers share, and this process's own."""

import asyncio
from collections.abc import Iterator

import structlog
from prometheus_client.core import Metric

from leaseforge import events
from leaseforge.errors import StoreError
from leaseforge.meters import CONTENT_TYPE, gauge, page, process_families
from leaseforge.pulse import Pulse
from leaseforge.store import Store
from leaseforge_api.metrics_http import HttpMeters
from leaseforge_api.metrics_installation import read_installation

__all__ = ["CONTENT_TYPE", "Scrapes", "ServerMeters"]

PATIENCE_S = 5.0
"""How long Redis may take to tell its part. Prometheus gives up after 10 s, and would have nothing at all."""

log = structlog.get_logger()


class ServerMeters:
    """Everything this server process counts of its own work."""

    def __init__(self) -> None:
        self.http = HttpMeters()
        self.pulse = Pulse()

    def families(self) -> Iterator[Metric]:
        """As Prometheus reads it."""
        yield from process_families(self.pulse)
        yield from self.http.families()


class Scrapes:
    """Answers scrapes. Those that come while Redis is being read share what is read: many cost it no more than one."""

    def __init__(self, store: Store, meters: ServerMeters) -> None:
        self._store = store
        self._meters = meters
        self._reading: asyncio.Task[list[Metric] | None] | None = None
        self._is_degraded = False

    async def page(self) -> bytes:
        """The whole page. What cannot be read is left out, never shown as 0: without Redis, the installation's part."""
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.create_task(self._read())
            reading.add_done_callback(self._was_read)
        # Whoever hangs up takes nothing away from the others.
        installation = await asyncio.shield(reading)
        degraded = gauge("leaseforge_server_degraded", "1 while Redis cannot be read", int(installation is None))
        # A thousand queues are a megabyte of text: other requests are answered meanwhile.
        return await asyncio.to_thread(page, [*(installation or ()), degraded, *self._meters.families()])

    async def _read(self) -> list[Metric] | None:
        """The installation's figures, or None if Redis does not tell them."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                installation = await read_installation(self._store)
        except (StoreError, TimeoutError) as error:
            if not self._is_degraded:
                log.warning(events.METRICS_INCOMPLETE, error=str(error) or f"no answer within {PATIENCE_S:g} s")
            self._is_degraded = True
            return None
        self._is_degraded = False
        return installation

    def _was_read(self, reading: asyncio.Task[list[Metric] | None]) -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # nobody may be left to be told
