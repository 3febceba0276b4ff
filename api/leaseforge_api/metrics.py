"""A server's page for Prometheus: the installation's figures, which all servers share, and this process's own."""

import asyncio
from collections.abc import Iterator

from prometheus_client.core import Metric

from leaseforge.meters import CONTENT_TYPE, page, process_families
from leaseforge.pulse import Pulse
from leaseforge.store import Store
from leaseforge_api.metrics_http import HttpMeters
from leaseforge_api.metrics_installation import read_installation

__all__ = ["CONTENT_TYPE", "Scrapes", "ServerMeters"]


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
        self._reading: asyncio.Task[list[Metric]] | None = None

    async def page(self) -> bytes:
        """The whole page. What cannot be read is left out, never shown as 0. Raises StoreUnavailable."""
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.create_task(read_installation(self._store))
            reading.add_done_callback(self._read)
        # Whoever hangs up takes nothing away from the others.
        installation = await asyncio.shield(reading)
        # A thousand queues are a megabyte of text: other requests are answered meanwhile.
        return await asyncio.to_thread(page, [*installation, *self._meters.families()])

    def _read(self, reading: asyncio.Task[list[Metric]]) -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # nobody may be left to be told
